import { statfs } from "node:fs/promises";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface DiskWatchOptions {
  /** A sentence for people: once when little space is left, and once when there is enough again. */
  onNews: (line: string) => void;
  /** Bytes that are free for this user on the directory's disk. */
  free?: (directory: string) => Promise<number>;
  everyMs?: number;
}

const MIB = 2 ** 20;
/** Postgres takes 16 MiB at once for its write-ahead log. */
const LOW_BYTES = 64 * MIB;
/** A disk on the brink is news once. */
const ENOUGH_BYTES = 96 * MIB;

/** Says that a disk gets full: the parts write their logs to it, so that they cannot say it themselves. */
export function startDiskWatch(directory: string, { onNews, free = freeBytes, everyMs = 2_000 }: DiskWatchOptions): Rounds {
  let isLow = false;
  return startRounds(
    async () => {
      const left = await free(directory);
      if (!isLow && left < LOW_BYTES) {
        isLow = true;
        onNews(
          `The disk with the data directory ${directory} has only ${Math.floor(left / MIB)} MiB left: free some space. Requests fail while it is full.`,
        );
      } else if (isLow && left >= ENOUGH_BYTES) {
        isLow = false;
        onNews(`The disk with the data directory ${directory} has enough space again.`);
      }
    },
    // The directory is gone: another watch says so.
    { everyMs, onFailure: () => {} },
  );
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
