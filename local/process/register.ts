import { writeFile } from "node:fs/promises";
import * as z from "zod";
import { readOptional } from "../data-directory.ts";
import { isAlive, startMark, stopProcess } from "./processes.ts";

/** The running processes of a stack, on disk, for a start after a stack was killed. */
export interface Register {
  add(name: string, pid: number): Promise<void>;
  clear(): Promise<void>;
}

const recordsSchema = z.array(z.object({ name: z.string(), pid: z.int(), mark: z.string() }));
type Records = z.infer<typeof recordsSchema>;

export function createRegister(file: string): Register {
  let records: Records = [];
  let writing = Promise.resolve();
  return {
    async add(name, pid) {
      const mark = await startMark(pid);
      if (mark === undefined) return;
      // Of a restarted part only the last process counts.
      records = [...records.filter((record) => record.name !== name), { name, pid, mark }];
      writing = writing.then(() => writeFile(file, JSON.stringify(records)));
      await writing;
    },
    async clear() {
      await writing;
      await writeFile(file, "[]");
    },
  };
}

/** Stops the processes that a killed stack left running, the last started first. A process id that was reused is left alone. */
export async function stopLeftovers(file: string, onFound: (name: string) => void): Promise<void> {
  for (const { name, pid, mark } of (await readRecords(file)).reverse()) {
    // A process that ended with its stack may be waiting to be reaped, and still has its mark.
    if ((await startMark(pid)) !== mark || !(await isAlive(pid))) continue;
    onFound(name);
    await stopProcess(pid, [
      { signal: "SIGTERM", waitMs: 15_000 },
      { signal: "SIGKILL", waitMs: 5_000 },
    ]);
  }
}

async function readRecords(file: string): Promise<Records> {
  const text = await readOptional(file);
  if (text === undefined) return [];
  try {
    return recordsSchema.parse(JSON.parse(text));
  } catch {
    // Cut off during a write; Node children end by themselves when their stack is killed.
    return [];
  }
}
