import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const VITEST = fileURLToPath(new URL("../vitest.mjs", import.meta.resolve("vitest")));

/** What a run of the files in run/ says on its standard output; it fails. */
async function output(environment: Record<string, string> = {}): Promise<string> {
  const words = [VITEST, "run", "--root", path.join(import.meta.dirname, "run")];
  const running = promisify(execFile)(process.execPath, words, { env: { PATH: process.env["PATH"], ...environment } });
  const failure: unknown = await running.catch((error: unknown) => error);
  return failure instanceof Error && "stdout" in failure ? String(failure.stdout) : "The run succeeded.";
}

test(
  "tests that a failed hook kept from running count as failed, and the missing prerequisite is reported once",
  { timeout: 60_000 },
  async () => {
    const text = await output();
    expect(text).toMatch(/\n1 passed, 5 failed\n$/);
    expect(text).toContain("\nMissing on this machine:\n  The hook needs a thing: install it. (2 files)\n");
  },
);

test("a run whose set-up fails is not a success", { timeout: 60_000 }, async () => {
  expect(await output({ SET_UP: "broken" })).toMatch(/\n0 passed, 1 failed\n$/);
});
