import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { release } from "./harness-release.ts";

const digestOf = async (file: string) =>
  createHash("sha256")
    .update(await readFile(file))
    .digest("hex");

test("two builds of one commit, by two people at two times, produce the same files, byte for byte", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-release-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const [first, second] = [path.join(directory, "first"), path.join(directory, "second")];
  await release(first, { mask: "022", at: new Date("2026-03-04T05:06:07Z") });
  await release(second, { mask: "077", at: new Date("2026-05-06T07:08:09Z") });
  const made = await readdir(path.join(first, "out"));
  expect(made.map((name) => name.replace(/^model-gateway-[^c-t]+/, "")).sort()).toEqual(["SHA256SUMS", "cdx.json", "tgz"]);
  expect(await readdir(path.join(second, "out"))).toEqual(made);
  for (const file of made)
    expect(await digestOf(path.join(second, "out", file)), file).toBe(await digestOf(path.join(first, "out", file)));
});
