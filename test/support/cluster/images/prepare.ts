import { chmod, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { tryLock } from "../../../../local/process/lock.ts";
import { isAlive } from "../../../../local/process/processes.ts";
import { removeCgroup } from "../cgroup.ts";
import { buildImages, buildLocalImage, type BuildImagesOptions, type Images } from "./images.ts";
import { copySeed, seedImages } from "./seed.ts";

const LOCK_POLL_MS = 500;

export interface Prepared {
  images: Images;
  /** A new directory for one cluster; in `images` is containerd's root with all of them. */
  directory: string;
}

/** Builds and unpacks images, or finds what an earlier run built. */
export async function prepareImages(options: BuildImagesOptions): Promise<Prepared> {
  return whileLocked(options, async () => {
    const images = await buildImages(options);
    const seed = await seedImages(options.directory, images);
    const directory = await mkdtemp(path.join(options.directory, `run-${process.pid}-`));
    // Pods' users reach their volumes through it.
    await chmod(directory, 0o755);
    await copySeed(seed, path.join(directory, "images"));
    return { images, directory };
  });
}

/** @returns the name of the image that runs the whole product. */
export async function prepareLocalImage(options: BuildImagesOptions): Promise<string> {
  return whileLocked(options, () => buildLocalImage(options));
}

/** Other processes wait meanwhile, and then find what this one has built. */
async function whileLocked<Result>(options: BuildImagesOptions, work: () => Promise<Result>): Promise<Result> {
  await mkdir(options.directory, { recursive: true });
  for (let isWaiting = false; ; isWaiting = true) {
    const attempt = await tryLock(path.join(options.directory, "lock"));
    if (attempt.kind === "taken") {
      try {
        await removeLeftovers(options.directory);
        return await work();
      } finally {
        await attempt.lock.release();
      }
    }
    if (!isWaiting) options.onProgress(`Waiting for process ${attempt.holder}, which builds the cluster's images …`);
    await sleep(LOCK_POLL_MS);
  }
}

/** Of builds and clusters whose process was killed. Builds are ours alone while the lock is. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [, pid] = /^run-(\d+)-/.exec(name) ?? [];
    const isLeft = pid === undefined ? /^(?:context|root|import)-/.test(name) : !(await isAlive(Number(pid)));
    if (!isLeft) continue;
    await removeCgroup(path.join(directory, name));
    await rm(path.join(directory, name), { recursive: true, force: true });
  }
}
