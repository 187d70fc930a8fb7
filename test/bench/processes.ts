import { readdir, readFile } from "node:fs/promises";

/** What these processes and their children have used so far, and hold now. */
export interface ProcessUse {
  /** User and system time, milliseconds. */
  cpuMs: number;
  /** Memory of their own, with their share of what they have in common with others, MiB. */
  memoryMiB: number;
}

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

export async function readUse(pids: readonly number[]): Promise<ProcessUse> {
  const all = await readProcesses();
  const wanted = new Set(pids);
  // Children have higher ids than their parents, as Postgres's backends do, and the list is in order.
  for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid);
  const chosen = all.filter(({ pid }) => wanted.has(pid));
  const memory = await Promise.all(chosen.map(({ pid }) => readMemoryMiB(pid)));
  return {
    cpuMs: chosen.reduce((sum, { ticks }) => sum + ticks * TICK_MS, 0),
    memoryMiB: memory.reduce((sum, each) => sum + each, 0),
  };
}

interface Process {
  pid: number;
  parent: number;
  ticks: number;
}

async function readProcesses(): Promise<Process[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const read = await Promise.all(names.sort((a, b) => a - b).map(readProcess));
  return read.filter((found) => found !== undefined);
}

async function readProcess(pid: number): Promise<Process | undefined> {
  // A process may end between the listing and the reading.
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name in brackets may hold spaces; what follows it is numbers.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  // User and system time, then those of children that have ended.
  return { pid, parent: fields[1] ?? 0, ticks: fields.slice(11, 15).reduce((sum, each) => sum + each, 0) };
}

async function readMemoryMiB(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024;
}
