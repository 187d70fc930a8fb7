import { readdir } from "node:fs/promises";
import path from "node:path";
import { watch, type FSWatcher } from "chokidar";
import { identityOf } from "../../runtime/file-identity.ts";
import { startRounds } from "../../runtime/wait.ts";

export interface FolderWatchDeps {
  /** Something in the folder has changed, or another folder has its name. */
  onChange(): void;
  onError(error: unknown): void;
}

export interface FolderWatch {
  stop(): Promise<void>;
}

/** How soon a folder that was replaced, or a link that leads elsewhere, is noticed. */
const EVERY_MS = 500;

/**
 * Watches the folder that has this name at any time. The library watches the one that had it first: once that is removed or renamed,
 * nothing in the next one is reported, nor in the same one when it is back. It also reports no link that leads nowhere, and no file
 * that a link leads to later.
 */
export async function watchFolder(folder: string, { onChange, onError }: FolderWatchDeps): Promise<FolderWatch> {
  let isLost = false;
  let watcher: FSWatcher | null = null;
  let watched: string | undefined;
  let links = "";

  async function begin(): Promise<void> {
    // Before the watcher starts: if anything is replaced in between, the next look finds another one.
    watched = await identityOf(folder);
    links = await linksOf(folder);
    isLost = watched === undefined;
    const started = watch(folder, { ignoreInitial: true, depth: 0 });
    watcher = started;
    started.on("all", (event, changed) => {
      if (event === "unlinkDir" && path.resolve(changed) === path.resolve(folder)) isLost = true;
      onChange();
    });
    started.on("error", onError);
    const { promise: watching, resolve } = Promise.withResolvers<void>();
    started.once("ready", resolve);
    await watching;
  }

  async function look(): Promise<void> {
    const current = await identityOf(folder);
    if (current === undefined) isLost = true;
    else if (isLost || current !== watched) {
      await watcher?.close();
      await begin();
      onChange();
    } else {
      const found = await linksOf(folder);
      if (found === links) return;
      links = found;
      onChange();
    }
  }

  await begin();
  const rounds = startRounds(look, { everyMs: EVERY_MS, onFailure: onError });
  return {
    async stop() {
      await rounds.stop();
      await watcher?.close();
    },
  };
}

/** The links of a folder, each with what it leads to; none if the folder is gone. */
async function linksOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const links = entries
    .filter((entry) => entry.isSymbolicLink())
    .map(({ name }) => name)
    .sort();
  const found = await Promise.all(links.map(async (name) => [name, await identityOf(path.join(folder, name))]));
  return JSON.stringify(found);
}
