import { readFile } from "node:fs/promises";

export interface ProcessStat {
  /** It has ended, and nobody has reaped it yet. */
  isZombie: boolean;
  /** Clock ticks from the machine's start to the process's: tells it from a later one with the same id. */
  startTicks: string;
}

/** What /proc/<pid>/stat says; undefined if there is no such process, or no /proc. */
export async function readProcessStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // From the third field on: the second, the name, may hold spaces and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startTicks] = [fields[0], fields[19]];
  return startTicks === undefined ? undefined : { isZombie: state === "Z", startTicks };
}
