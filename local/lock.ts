import { link, rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import * as z from "zod";
import { readOptional } from "./data-directory.ts";
import { startMark } from "./processes.ts";

export interface Lock {
  release(): Promise<void>;
}

const holderSchema = z.object({ pid: z.int(), mark: z.string().optional() });

let taken = 0;

/**
 * Makes this process the only one that uses a data directory. A lock whose process is gone is taken over.
 * @throws Error with one sentence where a living process holds it.
 */
export async function takeLock(file: string): Promise<Lock> {
  const own = `${file}.${process.pid}.${++taken}`;
  await writeFile(own, JSON.stringify({ pid: process.pid, mark: await startMark(process.pid) }));
  try {
    await takeWith(own, file);
  } finally {
    await rm(own, { force: true });
  }
  return { release: () => rm(file, { force: true }) };
}

async function takeWith(own: string, file: string): Promise<void> {
  for (;;) {
    // A link appears with its whole content, or not at all when another was first.
    if (await succeeds(link(own, file))) return;
    const text = await readOptional(file);
    if (text === undefined) continue;
    const holder = await livingHolder(text);
    if (holder !== undefined) {
      throw new Error(
        `Another start (process ${holder}) uses this data directory: stop that one first, or give this one its own with --data and --port.`,
      );
    }
    const stale = `${own}.stale`;
    if (!(await succeeds(rename(file, stale)))) continue;
    // Another may have taken the dead one's lock over in between: then it was the new lock that we moved.
    if ((await readOptional(stale)) !== text) await succeeds(link(stale, file));
    await rm(stale, { force: true });
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
      if (error instanceof Error && "code" in error && (error.code === "EEXIST" || error.code === "ENOENT")) return false;
      throw error;
    },
  );
}
