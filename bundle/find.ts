import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { access, constants, mkdir, realpath } from "node:fs/promises";
import path from "node:path";
import { findIn, keepInUse } from "./cache.ts";
import { bundlesIn, FOLDERS, ROOT, type Programs } from "./programs.ts";

const MODULES = path.join(ROOT, "node_modules");
/** npm writes it at each installation: the packages that are there, and their checksums. */
const PACKAGES = "node_modules/.package-lock.json";

/**
 * Finds the bundles of the sources as they are, or writes them, which takes some seconds.
 * @param staysInUse for as long as this process runs, nobody deletes them.
 * @throws Error if they can be neither written nor read.
 */
export async function findBundles({
  onWrite = () => {},
  staysInUse = false,
}: { onWrite?: () => void; staysInUse?: boolean } = {}): Promise<Programs> {
  const directory = await findCache();
  const bundles = await findIn({
    directory,
    fingerprint: () => fingerprint(directory),
    async write(unfinished) {
      onWrite();
      // Loads the bundler.
      const { writeBundles } = await import("./write.ts");
      await writeBundles(unfinished);
    },
  });
  if (staysInUse) keepInUse(bundles);
  const programs = bundlesIn(bundles);
  await access(programs("local/start.ts"), constants.R_OK);
  return programs;
}

/** Below the packages, so that bundles can resolve those that they do not contain; as Node.js names it to them, without links. */
async function findCache(): Promise<string> {
  const cache = path.join(MODULES, ".cache/model-gateway/bundles");
  await mkdir(cache, { recursive: true });
  const directory = await realpath(cache);
  if (directory.startsWith(`${await realpath(MODULES)}${path.sep}`)) return directory;
  throw new Error(`${cache} is not in the folder of the packages.`);
}

/**
 * Of every source and of the packages: a change of a file's time alone, as git makes it, changes nothing. Synchronously:
 * 1,400 small files are read four times as fast, and nobody waits for anything else.
 */
function fingerprint(cache: string): string {
  const hash = createHash("sha256");
  // Bundles read files beside the sources by the path from there; other checkouts may link to the same packages.
  hash.update(`${path.relative(cache, ROOT)}\0`);
  for (const folder of ["bundle", ...FOLDERS]) {
    const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" }).sort();
    for (const name of names) if (name.endsWith(".ts")) include(path.join(folder, name));
  }
  include(PACKAGES);
  return hash.digest("hex").slice(0, 16);

  function include(file: string): void {
    const content = readFileSync(path.join(ROOT, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
}
