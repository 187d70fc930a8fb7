import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { bundlesIn, FOLDERS, ROOT, type Programs } from "./programs.ts";

/** Below the packages, so that bundles can resolve those that they do not contain. */
const CACHE = path.join(ROOT, "node_modules/.cache/model-gateway/bundles");
/** npm writes it at each installation: the packages that are there, and their checksums. */
const PACKAGES = "node_modules/.package-lock.json";
/** Bundles of other states of the sources: running programs may load more of them, and `npm start` may start a part again. */
const MIN_KEPT = 4;
const KEPT_MS = 86_400_000;

/**
 * Finds the bundles of the sources as they are, or writes them, which takes some seconds.
 * @throws Error if they can be neither written nor read.
 */
export async function findBundles({ onWrite = () => {} }: { onWrite?: () => void } = {}): Promise<Programs> {
  const directory = path.join(CACHE, fingerprint());
  const programs = bundlesIn(directory);
  if (existsSync(directory)) {
    const now = new Date();
    // Those used last are kept. Whoever may only read them need not be able to say so.
    await utimes(directory, now, now).catch(() => {});
  } else {
    await mkdir(CACHE, { recursive: true });
    await write(directory, onWrite);
    await forgetOthers();
  }
  await access(programs("local/start.ts"), constants.R_OK);
  return programs;
}

async function write(directory: string, onWrite: () => void): Promise<void> {
  const unfinished = await mkdtemp(path.join(CACHE, "unfinished-"));
  onWrite();
  try {
    // Loads the bundler.
    const { writeBundles } = await import("./write.ts");
    await writeBundles(unfinished);
    // For other users, too.
    await chmod(unfinished, 0o755);
    // Another process may have been faster.
    await rename(unfinished, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/**
 * Of every source and of the packages: a change of a file's time alone, as git makes it, changes nothing. Synchronously:
 * 1,400 small files are read four times as fast, and nobody waits for anything else.
 */
function fingerprint(): string {
  const hash = createHash("sha256");
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

async function forgetOthers(): Promise<void> {
  const names = await readdir(CACHE);
  const used = await Promise.all(
    names.map(async (name) => {
      const directory = path.join(CACHE, name);
      // Another process may be writing, or forgetting too.
      const found = await stat(directory).catch(() => undefined);
      return { directory, at: found?.mtimeMs ?? 0 };
    }),
  );
  const others = used.toSorted((a, b) => b.at - a.at).slice(MIN_KEPT);
  const forgotten = others.filter(({ at }) => at < Date.now() - KEPT_MS);
  await Promise.all(forgotten.map(({ directory }) => rm(directory, { recursive: true, force: true })));
}
