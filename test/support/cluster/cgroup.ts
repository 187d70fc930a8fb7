import { access, mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";

/** Twenty times the usual, in version 1 and in version 2. */
const SHARES = [
  ["cpu.shares", 20_480],
  ["cpu.weight", 2_000],
] as const;
const MOUNT = "/sys/fs/cgroup";

/**
 * A control group of the cluster's own, in each hierarchy that the machine has: version 1 mounts one for each controller,
 * version 2 a single one.
 * @param directory of the cluster, after which it is named.
 */
export async function makeCgroup(directory: string): Promise<string> {
  const name = cgroupOf(directory);
  for (const hierarchy of await hierarchies()) {
    const folder = path.join(hierarchy, name);
    await mkdir(folder, { recursive: true });
    // A group counts as one process where processors are shared out: all pods together would get as much as one test.
    for (const [file, weight] of SHARES) await writeFile(path.join(folder, file), String(weight), { flag: "r+" }).catch(() => {});
  }
  return name;
}

/** Once nothing runs in it. */
export async function removeCgroup(directory: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeTree(path.join(hierarchy, cgroupOf(directory)));
}

function cgroupOf(directory: string): string {
  return `model-gateway-${path.basename(directory)}`;
}

async function hierarchies(): Promise<string[]> {
  const isHierarchy = (folder: string) =>
    access(path.join(folder, "cgroup.procs")).then(
      () => true,
      () => false,
    );
  if (await isHierarchy(MOUNT)) return [MOUNT];
  const names = (await readdir(MOUNT, { withFileTypes: true })).filter((each) => each.isDirectory()).map(({ name }) => name);
  const found: string[] = [];
  for (const name of names) if (await isHierarchy(path.join(MOUNT, name))) found.push(path.join(MOUNT, name));
  return found;
}

/** A control group's files cannot be deleted, and go with its folder. */
async function removeTree(folder: string): Promise<void> {
  const children = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const child of children) if (child.isDirectory()) await removeTree(path.join(folder, child.name));
  await rmdir(folder).catch(() => {});
}
