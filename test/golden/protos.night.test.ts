import { execFile } from "node:child_process";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");

/** Eight seconds of computing, which take minutes beside the rest of a run; the test's own limit is the only one. */
const WITHIN_MS = 600_000;

test("runtime/gen is what `npm run protos:update` writes", { timeout: WITHIN_MS }, async ({ signal }) => {
  const output = await mkdtemp(path.join(tmpdir(), "gateway-protos-"));
  try {
    await generate(output, signal);
    const written = await readTree(path.join(output, "runtime/gen"));
    expect(Object.keys(written).length).toBeGreaterThan(100);
    expect(await readTree(path.join(ROOT, "runtime/gen"))).toStrictEqual(written);
  } finally {
    await rm(output, { recursive: true });
  }
});

async function generate(output: string, signal: AbortSignal): Promise<void> {
  const programs = path.join(ROOT, "node_modules/.bin");
  // buf looks for its plugin on the PATH, and the plugin for Node.
  const searchPath = [path.dirname(process.execPath), programs, process.env["PATH"]].join(path.delimiter);
  await promisify(execFile)(path.join(programs, "buf"), ["generate", "--output", output], {
    cwd: ROOT,
    env: { ...process.env, PATH: searchPath },
    signal,
  });
}

/** The text of each file, by its path in the directory. */
async function readTree(directory: string): Promise<Record<string, string>> {
  const files = await Array.fromAsync(glob("**/*_pb.*", { cwd: directory }));
  return Object.fromEntries(
    await Promise.all(files.sort().map(async (file) => [file, await readFile(path.join(directory, file), "utf8")] as const)),
  );
}
