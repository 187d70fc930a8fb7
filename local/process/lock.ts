import { link, mkdir, rm, rmdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { errorCode } from "../../runtime/error-code.ts";
import { identityOf } from "../../runtime/file-identity.ts";
import { readOptional } from "../data-directory.ts";
import { startMark } from "./processes.ts";

export interface Lock {
  /**
   * Takes a lock again that was deleted, if its directory is still the same.
   * @returns whether this process is still the only user. False if the directory was removed or replaced, or another process has the
   * lock.
   */
  keep(): Promise<boolean>;
  /** Leaves another process's lock alone. */
  release(): Promise<void>;
}

const holderSchema = z.object({ pid: z.int(), mark: z.string().optional() });

let taken = 0;

/**
 * Makes this process the only user of a data directory. The lock of an ended process is taken over.
 * @throws Error with one sentence if a running process holds it.
 */
export async function takeLock(file: string): Promise<Lock> {
  const attempt = await tryLock(file);
  if (attempt.kind === "taken") return attempt.lock;
  throw new Error(
    `Another start (process ${attempt.holder}) uses this data directory: stop that one first, or give this one its own with --data and --port.`,
  );
}

export type LockAttempt = { kind: "taken"; lock: Lock } | { kind: "held"; holder: number };

/** Takes a lock, or returns the running process that holds it. */
export async function tryLock(file: string): Promise<LockAttempt> {
  const own = `${file}.${process.pid}.${++taken}`;
  const content = JSON.stringify({ pid: process.pid, mark: await startMark(process.pid) });
  try {
    await writeFile(own, content);
    const holder = await takeWith(own, file);
    if (holder !== undefined) return { kind: "held", holder };
  } finally {
    await rm(own, { force: true });
  }
  return { kind: "taken", lock: await lockOf(file, content) };
}

async function lockOf(file: string, content: string): Promise<Lock> {
  const directory = path.dirname(file);
  const identity = await identityOf(directory);
  return {
    async keep() {
      const text = await readOptional(file);
      if (text === content) return true;
      if (text !== undefined || (await identityOf(directory)) !== identity) return false;
      return (await tryLock(file)).kind === "taken";
    },
    async release() {
      if ((await readOptional(file)) === content) await rm(file, { force: true });
    },
  };
}

/** @returns the running process that holds the lock; undefined once it is ours. */
async function takeWith(own: string, file: string): Promise<number | undefined> {
  for (;;) {
    // A link appears with its complete content, or not at all if another was first.
    if (await succeeds(link(own, file))) return undefined;
    const text = await readOptional(file);
    if (text === undefined) continue;
    const holder = await livingHolder(text);
    if (holder !== undefined) return holder;
    await removeDead(file);
  }
}

const GATE_RETRY_MS = 20;
/** An older gate was left by a process that died inside it. */
const GATE_STALE_MS = 10_000;

/**
 * Removes a dead process's lock. Only the creator of the gate may, after checking again: otherwise two could find the same dead
 * lock, and the slower one would remove the quicker one's new lock.
 */
async function removeDead(file: string): Promise<void> {
  const gate = `${file}.gate`;
  if (!(await succeeds(mkdir(gate)))) {
    const made = await stat(gate).catch(() => undefined);
    if (made !== undefined && Date.now() - made.mtimeMs > GATE_STALE_MS) await succeeds(rmdir(gate));
    await sleep(GATE_RETRY_MS);
    return;
  }
  try {
    const text = await readOptional(file);
    if (text !== undefined && (await livingHolder(text)) === undefined) await rm(file, { force: true });
  } finally {
    await rmdir(gate);
  }
}

async function livingHolder(text: string): Promise<number | undefined> {
  const holder = parseHolder(text);
  if (holder === undefined) return undefined;
  const mark = await startMark(holder.pid);
  return mark !== undefined && mark === holder.mark ? holder.pid : undefined;
}

function parseHolder(text: string): z.infer<typeof holderSchema> | undefined {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    (error: unknown) => {
      if (["EEXIST", "ENOENT"].includes(errorCode(error) ?? "")) return false;
      throw error;
    },
  );
}
