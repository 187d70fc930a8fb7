import { access, mkdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cacheDirectory } from "../../local/cache-directory.ts";
import { tryLock } from "../../local/process/lock.ts";

const LOCK_POLL_MS = 500;

/**
 * A directory in the user's cache that is made once. Only what was made whole gets the name, by one rename; of several
 * processes that ask at once, one makes it and the others wait.
 * @param name says everything that the content depends on.
 * @param make fills an empty directory.
 */
export async function cached(name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const directory = path.join(cacheDirectory(process.env), "bench", name);
  await mkdir(path.dirname(directory), { recursive: true });
  for (;;) {
    if (await isThere(directory)) return directory;
    const attempt = await tryLock(`${directory}.lock`);
    if (attempt.kind === "held") {
      await sleep(LOCK_POLL_MS);
      continue;
    }
    const workspace = `${directory}.making`;
    try {
      if (await isThere(directory)) return directory;
      // What is there was left by one that was killed: nobody else makes it while the lock is ours.
      await rm(workspace, { recursive: true, force: true });
      await mkdir(workspace);
      await make(workspace);
      await rename(workspace, directory);
      return directory;
    } finally {
      await rm(workspace, { recursive: true, force: true });
      await attempt.lock.release();
    }
  }
}

function isThere(directory: string): Promise<boolean> {
  return access(directory).then(
    () => true,
    () => false,
  );
}
