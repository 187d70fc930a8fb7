import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { onTestFinished } from "vitest";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";

const run = promisify(execFile);

const GIVEN_BACK = 4_096;

const LOOK_EVERY_MS = 50;

/**
 * Leaves the process as many file descriptors as it has open, until the test is over. When it closes one, it may open no other
 * in its place.
 */
export async function takeDescriptors(pid: number): Promise<{ giveBack(): Promise<void> }> {
  const setLimit = async (limit: number) => {
    await run("prlimit", ["--pid", String(pid), `--nofile=${limit}:`]).catch((error: unknown) => {
      throw new MissingPrerequisite("This test needs prlimit, of the package util-linux.", { cause: error });
    });
  };
  const taking = new AbortController();
  let limit = await lowestUnused(pid);
  await setLimit(limit);
  const taken = (async () => {
    while (!taking.signal.aborted) {
      const unused = await lowestUnused(pid);
      if (unused < limit) await setLimit((limit = unused));
      await sleep(LOOK_EVERY_MS, undefined, { signal: taking.signal }).catch(() => {});
    }
  })();
  const giveBack = async () => {
    taking.abort();
    await taken;
    await setLimit(GIVEN_BACK);
  };
  onTestFinished(giveBack);
  return { giveBack };
}

/** The next file opened gets the lowest unused number, and fails if the limit is no higher. */
async function lowestUnused(pid: number): Promise<number> {
  const open = new Set(await readdir(`/proc/${pid}/fd`));
  let unused = 0;
  while (open.has(String(unused))) unused += 1;
  return unused;
}
