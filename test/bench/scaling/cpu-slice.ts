import { mkdir, rmdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";

/** A part of one core: what its process wants beyond it, it waits for, as on a slower core of its own. */
export interface CpuSlice {
  /** Once its process has ended. */
  remove(): Promise<void>;
}

const GROUPS = "/sys/fs/cgroup";
/** Short, so that a slice that is used up makes nobody wait for long. */
const PERIOD_MICROS = 10_000;

/**
 * Puts a process with all its threads into a control group of its own (Linux; version 1 or 2).
 * @param share of one core.
 * @throws Error with what is missing.
 */
export async function sliceCpu(pid: number, share: number): Promise<CpuSlice> {
  const name = `model-gateway-bench-${pid}`;
  const isVersion1 = await exists(path.join(GROUPS, "cpu", "cpu.cfs_quota_us"));
  const directory = isVersion1 ? path.join(GROUPS, "cpu", name) : path.join(GROUPS, name);
  const write = (file: string, value: string | number) => writeFile(path.join(directory, file), String(value));
  const quota = Math.round(share * PERIOD_MICROS);
  try {
    await mkdir(directory);
    if (isVersion1) {
      await write("cpu.cfs_period_us", PERIOD_MICROS);
      await write("cpu.cfs_quota_us", quota);
    } else await write("cpu.max", `${quota} ${PERIOD_MICROS}`);
    await write("cgroup.procs", pid);
  } catch (error) {
    throw new Error(`${directory} cannot be made: run this as root, where control groups can be written.`, { cause: error });
  }
  return { remove: () => rmdir(directory) };
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
