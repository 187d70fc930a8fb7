import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";

const OLDEST_MAJOR = 18;

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      optional: z.boolean().optional(),
      os: z.union([z.string(), z.array(z.string())]).optional(),
      engines: z.object({ node: z.string().optional() }).optional(),
    }),
  ),
});

function isTakenByOldest(range: string): boolean {
  const least = />= ?(\d+)(?:\.\d+)*$/.exec(range)?.[1];
  return least !== undefined && Number(least) <= OLDEST_MAJOR;
}

// npm leaves out an optional package whose engines its own Node does not meet, and says nothing. Programs run on Node 24,
// so what npm runs on does not matter to them.
test("npm on Node 18 installs the native part of every tool", async () => {
  const text = await readFile(path.join(import.meta.dirname, "../../../package-lock.json"), "utf8");
  const native = Object.entries(lockSchema.parse(JSON.parse(text)).packages).filter(([, each]) => each.optional && each.os);
  expect(native.length).toBeGreaterThan(20);
  const leftOut = native.filter(([, { engines }]) => engines?.node !== undefined && !isTakenByOldest(engines.node));
  expect(
    leftOut.map(([folder]) => folder),
    "delete the engines of these entries in package-lock.json: npm keeps it so until their next update",
  ).toStrictEqual([]);
});
