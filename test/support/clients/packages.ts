import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, copyFile, mkdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { tryLock } from "../../../local/process/lock.ts";

const run = promisify(execFile);

/** The tools and SDKs that the tests of test/clients run: real packages, apart from the product's own. */
export interface ClientPackages {
  /** A package's folder in node_modules. */
  nodePackage(name: string): string;
  /** A program of the official SDKs' Python environment. */
  sdkProgram(name: string): string;
  /** A program of Aider's, which pins old versions of much. */
  aiderProgram(name: string): string;
}

export interface FindPackagesOptions {
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines for people: fetching takes a while. */
  onProgress: (line: string) => void;
}

const SOURCE = fileURLToPath(new URL("../../clients", import.meta.url));
const NODE_FILES = ["package.json", "package-lock.json", ".npmrc"];
const PYTHON_FILES = ["sdks.txt", "aider.txt"];
const WITHIN_MS = 15 * 60_000;
const LOCK_POLL_MS = 500;

/**
 * Installs the packages of test/clients once, into the user's cache directory. Of several processes that ask at once, one
 * installs and the others wait for it.
 * @throws Error with what npm or pip said.
 */
export async function findClientPackages(options: FindPackagesOptions): Promise<ClientPackages> {
  const cache = path.join(cacheDirectory(options.environment), "test-clients");
  const directory = path.join(cache, await fingerprint());
  await mkdir(cache, { recursive: true });
  for (let isWaiting = false; !(await isThere(directory)); isWaiting = true) {
    const attempt = await tryLock(`${directory}.lock`);
    if (attempt.kind === "taken") {
      try {
        if (!(await isThere(directory))) await installInto(directory, options);
      } finally {
        await attempt.lock.release();
      }
      break;
    }
    if (!isWaiting) options.onProgress(`Waiting for process ${attempt.holder}, which installs the client packages …`);
    await sleep(LOCK_POLL_MS);
  }
  return {
    nodePackage: (name) => path.join(directory, "node/node_modules", name),
    sdkProgram: (name) => path.join(directory, "sdks/bin", name),
    aiderProgram: (name) => path.join(directory, "aider/bin", name),
  };
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of NODE_FILES) hash.update(await readFile(path.join(SOURCE, "node", name)));
  for (const name of PYTHON_FILES) hash.update(await readFile(path.join(SOURCE, "python", name)));
  hash.update(JSON.stringify([process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function isThere(directory: string): Promise<boolean> {
  return access(path.join(directory, "complete")).then(
    () => true,
    () => false,
  );
}

/** A Python environment holds its own path: it is made where it stays, and counts once the last part is there. */
async function installInto(directory: string, { environment, onProgress }: FindPackagesOptions): Promise<void> {
  onProgress("Fetching the coding tools and SDKs that the tests run (about 500 MB), once …");
  // What is there was left by one that was killed: nobody else installs while the lock is ours.
  await rm(directory, { recursive: true, force: true });
  const node = path.join(directory, "node");
  await mkdir(node, { recursive: true });
  const settings = { env: { ...environment }, timeout: WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
  for (const name of NODE_FILES) await copyFile(path.join(SOURCE, "node", name), path.join(node, name));
  // Not `npm ci`: that wants every platform's optional packages in the lock file. The versions are the lock file's here, too.
  const words = ["install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
  await run("npm", words, { ...settings, cwd: node });
  for (const name of PYTHON_FILES) {
    const target = path.join(directory, path.basename(name, ".txt"));
    await run("python3", ["-m", "venv", target], settings);
    const words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];
    await run(path.join(target, "bin/pip"), [...words, "-r", path.join(SOURCE, "python", name)], settings);
  }
  await mkdir(path.join(directory, "completing"));
  await rename(path.join(directory, "completing"), path.join(directory, "complete"));
  onProgress(`The client packages are in ${directory}.`);
}
