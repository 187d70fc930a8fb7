import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { tryLock } from "../../../local/process/lock.ts";
import { BUILD_FLAGS, buildGoTools } from "./build.ts";
import type { GoTools } from "./programs.ts";

const run = promisify(execFile);

export interface FindGoToolsOptions {
  /** PATH, XDG_CACHE_HOME, HOME and Go's own settings are looked at. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines for people: building takes minutes. */
  onProgress: (line: string) => void;
}

const LOCK_POLL_MS = 500;

/**
 * The directory of the programs, built once into the user's cache directory.
 * Of several processes that ask at once, one builds and the others wait for it.
 * @throws Error with one sentence that names the program to install or the variable to set.
 */
export async function findGoTools(tools: GoTools, { environment, onProgress }: FindGoToolsOptions): Promise<string> {
  const cache = path.join(cacheDirectory(environment), tools.name);
  const directory = path.join(cache, await fingerprint(tools));
  if (await isThere(directory)) return directory;
  await mkdir(cache, { recursive: true });
  for (let isWaiting = false; ; isWaiting = true) {
    const attempt = await tryLock(`${directory}.lock`);
    if (attempt.kind === "taken") {
      try {
        if (!(await isThere(directory))) await buildInto(directory, tools, { environment, onProgress });
        return directory;
      } finally {
        await attempt.lock.release();
      }
    }
    if (!isWaiting) onProgress(`Waiting for process ${attempt.holder}, which builds ${tools.title} …`);
    await sleep(LOCK_POLL_MS);
  }
}

/** Which Go built them is left out: any that can build them does, and then they are no worse for it. */
async function fingerprint({ module, flags }: GoTools): Promise<string> {
  const hash = createHash("sha256");
  const sources = (await readdir(module)).filter((name) => name.endsWith(".go")).toSorted();
  for (const name of ["go.mod", "go.sum", ...sources]) hash.update(await readFile(path.join(module, name)));
  hash.update(JSON.stringify([[...BUILD_FLAGS, ...flags], process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function isThere(directory: string): Promise<boolean> {
  return access(directory).then(
    () => true,
    () => false,
  );
}

/** Only programs that run get the final directory's name, by one rename. */
async function buildInto(directory: string, tools: GoTools, { environment, onProgress }: FindGoToolsOptions): Promise<void> {
  const workspace = `${directory}.building`;
  // Leftovers of a killed build: nobody else builds while we have the lock.
  await rm(workspace, { recursive: true, force: true });
  await mkdir(workspace);
  try {
    await buildGoTools(tools, { output: workspace, environment, onProgress });
    for (const [from, to] of Object.entries(tools.renamed)) await rename(path.join(workspace, from), path.join(workspace, to));
    for (const [name, ...parameters] of tools.programs) await run(path.join(workspace, name), parameters, { timeout: 60_000 });
    await rename(workspace, directory);
    onProgress(`Built ${tools.list}: ${directory}.`);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}
