import { readFile } from "node:fs/promises";
import { expect, inject } from "vitest";
import * as z from "zod";

const resultsSchema = z.record(z.string(), z.looseObject({}));

/**
 * The file has what was seen, and at night, when every client has run, nothing else. `npm run clients:update` runs them all
 * and writes the file.
 */
export async function expectResults(file: string, seen: Readonly<Record<string, object>>): Promise<void> {
  if (inject("isNight")) return await expect(`${JSON.stringify(seen, null, 2)}\n`).toMatchFileSnapshot(file);
  const known = resultsSchema.parse(JSON.parse(await readFile(file, "utf8")));
  expect(Object.fromEntries(Object.keys(seen).map((client) => [client, known[client]]))).toEqual(seen);
}
