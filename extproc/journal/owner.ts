import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import * as z from "zod";

/** Says whose journal a directory holds. A process is its id and its start: ids are used again. */
export interface Owner {
  pid: number;
  /** When it started, in the platform's own form; null where the platform does not say. */
  startMark: string | null;
  /** Holder of its credit leases. */
  holder: string;
  /** Its number among the processes of one Envoy. */
  worker: number;
}

const FILE = "owner.json";
const ownerSchema = z.object({ pid: z.int(), startMark: z.string().nullable(), holder: z.string(), worker: z.int().default(0) });

export async function writeOwner(directory: string, { holder, worker }: Pick<Owner, "holder" | "worker">): Promise<void> {
  const owner: Owner = { pid: process.pid, startMark: await startMarkOf(process.pid), holder, worker };
  await writeFile(path.join(directory, FILE), JSON.stringify(owner));
}

/** @throws where the directory holds no journal. */
export async function readOwner(directory: string): Promise<Owner> {
  return ownerSchema.parse(JSON.parse(await readFile(path.join(directory, FILE), "utf8")));
}

export async function isRunning({ pid, startMark }: Pick<Owner, "pid" | "startMark">): Promise<boolean> {
  const mark = await startMarkOf(pid);
  if (startMark !== null) return mark === startMark;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The 22nd field of /proc/<pid>/stat, counted behind the name, which may hold spaces and brackets. */
async function startMarkOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie writes no more.
  return state === "Z" ? null : (fields[18] ?? null);
}
