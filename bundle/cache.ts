import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import path from "node:path";

/** Bundles of several states of the sources, each in a folder named after its state. */
export interface BundleCache {
  directory: string;
  /** Of the sources as they are now. */
  fingerprint(): string;
  /** Writes bundles of the sources as they are now. */
  write(directory: string): Promise<void>;
}

/** Bundles of other states of the sources: running programs may load more of them, and `npm start` may start a part again. */
const MIN_KEPT = 4;
const KEPT_MS = 86_400_000;
const KEPT_AGAIN_EVERY_MS = KEPT_MS / 24;
/** Editors and git change many files at once; nobody changes them all the time. */
const MAX_ATTEMPTS = 5;
/** The files of a folder, with their lengths. */
const LIST = "files.json";

/**
 * The folder with bundles of the sources as they are; they are written if they are missing.
 * @throws Error if they cannot be written.
 */
export async function findIn({ directory, fingerprint, write }: BundleCache): Promise<string> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const state = fingerprint();
    const wanted = path.join(directory, state);
    if (await isComplete(wanted)) {
      await touch(wanted);
      return wanted;
    }
    const unfinished = await mkdtemp(path.join(directory, "unfinished-"));
    try {
      await write(unfinished);
      // Under the name of the earlier sources, it would run in their place whenever they come back.
      if (fingerprint() !== state) continue;
      await finish(unfinished, wanted);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
    await forgetOthers(directory);
    return wanted;
  }
  throw new Error("The sources kept changing while their bundles were written.");
}

/** For as long as this process runs, nobody forgets them. */
export function keepInUse(bundles: string): void {
  setInterval(() => void touch(bundles), KEPT_AGAIN_EVERY_MS).unref();
}

/** Those used last are kept. Whoever may only read them need not be able to say so. */
async function touch(bundles: string): Promise<void> {
  const now = new Date();
  await utimes(bundles, now, now).catch(() => {});
}

/** A crash of the machine, or whoever cleans up old files, leaves some without others. */
async function isComplete(bundles: string): Promise<boolean> {
  try {
    const lengths: unknown = JSON.parse(await readFile(path.join(bundles, LIST), "utf8"));
    return JSON.stringify(await lengthsIn(bundles)) === JSON.stringify(lengths);
  } catch {
    return false;
  }
}

async function lengthsIn(bundles: string): Promise<[string, number][]> {
  const names = (await readdir(bundles)).filter((name) => name !== LIST).sort();
  return Promise.all(names.map(async (name) => [name, (await stat(path.join(bundles, name))).size]));
}

async function finish(unfinished: string, wanted: string): Promise<void> {
  await writeFile(path.join(unfinished, LIST), JSON.stringify(await lengthsIn(unfinished)));
  // For other users, too.
  await chmod(unfinished, 0o755);
  try {
    await rename(unfinished, wanted);
  } catch (error) {
    // Another process may have been faster.
    if (await isComplete(wanted)) return;
    await rm(wanted, { recursive: true, force: true });
    await rename(unfinished, wanted).catch(() => {
      throw error;
    });
  }
}

async function forgetOthers(directory: string): Promise<void> {
  const names = await readdir(directory);
  const used = await Promise.all(
    names.map(async (name) => {
      const bundles = path.join(directory, name);
      // Another process may be writing, or forgetting too.
      const found = await stat(bundles).catch(() => undefined);
      return { bundles, at: found?.mtimeMs ?? 0 };
    }),
  );
  const others = used.toSorted((a, b) => b.at - a.at).slice(MIN_KEPT);
  const forgotten = others.filter(({ at }) => at < Date.now() - KEPT_MS);
  await Promise.all(forgotten.map(({ bundles }) => rm(bundles, { recursive: true, force: true })));
}
