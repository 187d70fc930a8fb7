import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import * as z from "zod";
import { readProcessStat } from "../../runtime/process-stat.ts";

/** The owner of a directory's journal. The directory's name is the holder of that process's credit leases. */
export interface Owner {
  pid: number;
  /** Start time of the process, in the platform's own format; null if unknown. Process ids are reused. */
  startMark: string | null;
  /** This boot of the machine: ids and start times are reused after the next. Null if unknown. */
  bootId: string | null;
  holder: string;
  /** The process's number among those of one Envoy. */
  worker: number;
}

export const OWNER_FILE = "owner.json";

const ownerSchema = z.object({
  pid: z.int().positive(),
  startMark: z.string().nullable(),
  bootId: z.string().nullable().default(null),
  holder: z.string(),
  worker: z.int().nonnegative().default(0),
});

export async function describeOwner({ holder, worker }: Pick<Owner, "holder" | "worker">): Promise<Owner> {
  return { pid: process.pid, startMark: await startMarkOf(process.pid), bootId: await readBootId(), holder, worker };
}

/** @returns null if the file is missing, damaged, or another journal's: the journal can be read without it (S39). */
export async function readOwner(directory: string): Promise<Owner | null> {
  try {
    const owner = ownerSchema.parse(JSON.parse(await readFile(path.join(directory, OWNER_FILE), "utf8")));
    return owner.holder === path.basename(directory) ? owner : null;
  } catch {
    return null;
  }
}

/**
 * Whether the process that writes this journal is still running. Its owner file is checked first. If that says no, or nothing at
 * all, no other process may have one of the directory's files open either: one wrong digit in the file must not remove a running
 * process's journal.
 */
export async function isInUse(directory: string, owner: Owner | null): Promise<boolean> {
  if (owner !== null && (await isRunning(owner))) return true;
  return isOpenElsewhere(directory);
}

async function isRunning({ pid, startMark, bootId }: Owner): Promise<boolean> {
  if (bootId !== null && bootId !== (await readBootId())) return false;
  const mark = await startMarkOf(pid);
  if (startMark !== null) return mark === startMark;
  // A platform that reports when this process started would have done so for the owner, too.
  if ((await startMarkOf(process.pid)) !== null) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Null for a zombie, too: it no longer writes. */
async function startMarkOf(pid: number): Promise<string | null> {
  const found = await readProcessStat(pid);
  return found === undefined || found.isZombie ? null : found.startTicks;
}

async function readBootId(): Promise<string | null> {
  const id = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => null);
  return id === null ? null : id.trim();
}

/** A journal always has an open segment, so its writer is found without the owner file. False without /proc. */
async function isOpenElsewhere(directory: string): Promise<boolean> {
  const prefix = `${await realpath(directory)}${path.sep}`;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  for (const pid of pids) {
    // Processes of other users cannot be inspected; none of them writes here.
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    const files = await Promise.all(descriptors.map((each) => readlink(`/proc/${pid}/fd/${each}`).catch(() => "")));
    if (files.some((file) => file.startsWith(prefix))) return true;
  }
  return false;
}
