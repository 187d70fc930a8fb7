import { readdir, readFile } from "node:fs/promises";

/** The resources of a process and its descendants, as the kernel reports them. */
export interface ProcessFacts {
  /** Memory of their own with their share of what they have in common, MiB. */
  memoryMiB: number;
  /** Open files, sockets and pipes. */
  descriptors: number;
}

export async function readFacts(pid: number): Promise<ProcessFacts> {
  const facts = await Promise.all((await readFamily(pid)).map(readOne));
  return {
    memoryMiB: facts.reduce((sum, each) => sum + each.memoryMiB, 0),
    descriptors: facts.reduce((sum, each) => sum + each.descriptors, 0),
  };
}

/** The process and its children, theirs too. */
export async function readFamily(pid: number): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const parents = new Map(await Promise.all(names.map(async (name) => [Number(name), await readParent(name)] as const)));
  const family = [pid];
  for (const member of family) for (const [child, parent] of parents) if (parent === member) family.push(child);
  return family;
}

/** 0 if it has ended since. */
async function readParent(pid: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name in brackets may hold spaces.
  return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1] ?? 0);
}

async function readOne(pid: number): Promise<ProcessFacts> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  return { memoryMiB: Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1024, descriptors: descriptors.length };
}
