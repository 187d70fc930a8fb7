import { readdir, readFile } from "node:fs/promises";

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** CPU time, user and system, that these processes and their children have used so far, in milliseconds. */
export async function cpuMilliseconds(pids: readonly number[]): Promise<number> {
  const all = await readProcesses();
  const wanted = new Set(pids);
  // Children follow their parents by id, as Postgres's backends do.
  for (const { pid, parent } of all) if (wanted.has(parent)) wanted.add(pid);
  return all.filter(({ pid }) => wanted.has(pid)).reduce((sum, { ticks }) => sum + ticks * TICK_MS, 0);
}

async function readProcesses(): Promise<{ pid: number; parent: number; ticks: number }[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const read = await Promise.all(names.sort((a, b) => a - b).map(readProcess));
  return read.filter((found) => found !== undefined);
}

async function readProcess(pid: number): Promise<{ pid: number; parent: number; ticks: number } | undefined> {
  // A process may end between the listing and the reading.
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // The name in brackets may hold spaces; what follows it is numbers.
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const [, parent = 0] = fields;
  return { pid, parent, ticks: (fields[11] ?? 0) + (fields[12] ?? 0) };
}
