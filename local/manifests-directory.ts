import { chmod, copyFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { DataDirectory } from "./data-directory.ts";

const SAMPLES = fileURLToPath(new URL("./manifests", import.meta.url));

/**
 * The folder of Models to watch: the given one, otherwise the data directory's own, which starts with the samples. People write
 * providers' keys there, so it is private and outside git.
 * @throws Error with one sentence if the given folder does not exist.
 */
export async function chooseManifests(
  named: string | undefined,
  { manifests }: Pick<DataDirectory, "manifests">,
): Promise<string> {
  if (named !== undefined) {
    const directory = path.resolve(named);
    if (await isDirectory(directory)) return directory;
    throw new Error(`There is no folder ${directory}: set --manifests to the folder with your Models.`);
  }
  if (!(await isDirectory(manifests))) await copySamples(manifests);
  return manifests;
}

async function copySamples(directory: string): Promise<void> {
  // Only a complete copy gets the name: an interrupted start begins again.
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  for (const name of await readdir(SAMPLES)) {
    const file = path.join(unfinished, name);
    await copyFile(path.join(SAMPLES, name), file);
    await chmod(file, 0o600);
  }
  await rename(unfinished, directory);
}

async function isDirectory(directory: string): Promise<boolean> {
  return stat(directory).then(
    (status) => status.isDirectory(),
    () => false,
  );
}
