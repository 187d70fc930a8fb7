import type { Dirent } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "../../runtime/log.ts";

/** Segments with damage, kept for inspection after everything readable in them has been charged (S39). */
export interface DamagedJournals {
  /** Moves these files out of a journal. */
  keep(journal: { directory: string; segments: readonly string[] }): Promise<void>;
  /** Counts again: someone may have removed some. */
  recount(): Promise<void>;
  readonly count: number;
}

export interface DamagedJournalsOptions {
  /** Folder with the journals of all processes. */
  root: string;
  log: Logger;
  maxCount?: number;
  maxBytes?: number;
}

/** Not a valid name of a journal: those are UUIDs. */
export const DAMAGED_FOLDER = "damaged";

/** @param options.maxBytes beyond it the oldest are deleted, and the log names them; the newest always stays. */
export function createDamagedJournals({
  root,
  log,
  maxCount = 32,
  maxBytes = 256 * 2 ** 20,
}: DamagedJournalsOptions): DamagedJournals {
  const folder = path.join(root, DAMAGED_FOLDER);
  let count = 0;

  async function list(): Promise<{ name: string; bytes: number; keptMs: number }[]> {
    const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const kept = await Promise.all(
      entries
        .filter((entry) => entry.isDirectory())
        .map(async ({ name }) => {
          const directory = path.join(folder, name);
          const files = await readdir(directory);
          const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(directory, file))).size));
          return { name, bytes: sizes.reduce((sum, size) => sum + size, 0), keptMs: (await stat(directory)).mtimeMs };
        }),
    );
    return kept.sort((one, other) => one.keptMs - other.keptMs);
  }

  async function makeRoom(): Promise<void> {
    const kept = await list();
    let bytes = kept.reduce((sum, each) => sum + each.bytes, 0);
    while (kept.length > 1 && (kept.length > maxCount || bytes > maxBytes)) {
      const oldest = kept.shift();
      if (oldest === undefined) break;
      await rm(path.join(folder, oldest.name), { recursive: true, force: true });
      bytes -= oldest.bytes;
      log.error(
        { journal: oldest.name, bytes: oldest.bytes },
        "the oldest damaged journal was removed to make room for new ones",
      );
    }
    count = kept.length;
  }

  return {
    async keep({ directory, segments }) {
      const to = path.join(folder, path.basename(directory));
      await mkdir(to, { recursive: true });
      for (const segment of segments) await rename(path.join(directory, segment), path.join(to, segment));
      await makeRoom();
    },
    async recount() {
      count = (await list()).length;
    },
    get count() {
      return count;
    },
  };
}
