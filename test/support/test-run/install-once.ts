import { access, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryLock } from "../../../local/process/lock.ts";

const LOCK_POLL_MS = 500;

export interface InstallOnceOptions {
  install: () => Promise<void>;
  /** Another process is installing it. */
  onWait: (holder: number) => void;
}

/**
 * Installs into a directory once. Of several processes that ask at the same time, one installs and the others wait for it;
 * what an interrupted installation left behind is removed first.
 */
export async function installOnce(directory: string, { install, onWait }: InstallOnceOptions): Promise<void> {
  const marker = path.join(directory, "complete");
  for (let isWaiting = false; !(await exists(marker)); isWaiting = true) {
    await mkdir(path.dirname(directory), { recursive: true });
    const attempt = await tryLock(`${directory}.lock`);
    if (attempt.kind === "taken") {
      try {
        if (await exists(marker)) return;
        await rm(directory, { recursive: true, force: true });
        await mkdir(directory);
        await install();
        await mkdir(marker);
        return;
      } finally {
        await attempt.lock.release();
      }
    }
    if (!isWaiting) onWait(attempt.holder);
    await sleep(LOCK_POLL_MS);
  }
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
