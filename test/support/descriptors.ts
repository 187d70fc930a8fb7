import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { MissingPrerequisite } from "./prerequisite.ts";

const run = promisify(execFile);

/** Leaves the process as many file descriptors as it has open, until the test is over. */
export async function takeDescriptors(pid: number): Promise<{ giveBack(): Promise<void> }> {
  const open = (await readdir(`/proc/${pid}/fd`)).map(Number);
  const setLimit = async (limit: string) => {
    await run("prlimit", ["--pid", String(pid), `--nofile=${limit}:`]).catch((error: unknown) => {
      throw new MissingPrerequisite("This test needs prlimit, of the package util-linux.", { cause: error });
    });
  };
  // What opens next would get the lowest number that is free.
  let free = 0;
  while (open.includes(free)) free += 1;
  await setLimit(String(free));
  const giveBack = () => setLimit("4096");
  onTestFinished(giveBack);
  return { giveBack };
}
