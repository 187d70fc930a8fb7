import { readFile } from "node:fs/promises";

export interface ProcessStat {
  /** It has ended, but its parent has not reaped it yet. */
  isZombie: boolean;
  /** Clock ticks from the machine's start to the process's: distinguishes it from a later process with the same id. */
  startTicks: string;
}

/** Reads /proc/<pid>/stat. @returns undefined if there is no such process, or no /proc. */
export async function readProcessStat(pid: number): Promise<ProcessStat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // From the third field on: the second, the name, may contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startTicks] = [fields[0], fields[19]];
  return startTicks === undefined ? undefined : { isZombie: state === "Z", startTicks };
}
