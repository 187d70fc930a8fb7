import { createReadStream, createWriteStream } from "node:fs";
import { readdir, stat, truncate } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface LogRotationOptions {
  maxBytes?: number;
  everyMs?: number;
}

const CURRENT = /^[^.]+\.log$/;

/**
 * Bounds the logs of a folder. Writers keep them open, so a log is not renamed: its content is copied to `<name>.1.log`, and it
 * is truncated. All of them are opened for appending, so their writers continue at the new end. Lines written between the copy
 * and the truncation are lost, and so is the copy if the disk has no room for it.
 */
export function startLogRotation(
  directory: string,
  { maxBytes = 32 * 2 ** 20, everyMs = 2_000 }: LogRotationOptions = {},
): Rounds {
  return startRounds(() => rotateLarge(directory, maxBytes), {
    everyMs,
    // The folder is gone, or cannot be read: nothing in it grows.
    onFailure: () => {},
  });
}

async function rotateLarge(directory: string, maxBytes: number): Promise<void> {
  for (const name of (await readdir(directory)).filter((each) => CURRENT.test(each))) {
    const file = path.join(directory, name);
    const { size } = await stat(file);
    if (size <= maxBytes) continue;
    const before = path.join(directory, name.replace(/\.log$/, ".1.log"));
    // Lines that the disk does not accept are discarded: making room comes first.
    await copy(file, before, size).catch(() => truncate(before).catch(() => {}));
    await truncate(file);
  }
}

/** First the existing content, then newer lines: a busy writer must not keep it from ending. */
async function copy(file: string, before: string, size: number): Promise<void> {
  await pipeline(createReadStream(file, { end: size - 1 }), createWriteStream(before));
  const { size: grown } = await stat(file);
  if (grown <= size) return;
  await pipeline(createReadStream(file, { start: size, end: grown - 1 }), createWriteStream(before, { flags: "a" }));
}
