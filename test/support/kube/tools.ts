import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { access, constants, mkdir, readFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { tryLock } from "../../../local/process/lock.ts";
import { BUILD_FLAGS, buildKubeTools } from "./go-build.ts";

const run = promisify(execFile);

/** Paths of the programs that make a Kubernetes API without a cluster. */
export interface KubeTools {
  apiServer: string;
  etcd: string;
  kubectl: string;
  helm: string;
}

export interface FindKubeToolsOptions {
  /** KUBEBUILDER_ASSETS, PATH, XDG_CACHE_HOME, HOME and Go's own settings are looked at. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines for people: building takes minutes. */
  onProgress: (line: string) => void;
}

const MODULE = fileURLToPath(new URL("../../kube-tools", import.meta.url));
/** Program and how it is asked whether it runs. */
const PROGRAMS = [
  ["kube-apiserver", "--version"],
  ["etcd", "--version"],
  ["kubectl", "version", "--client"],
  ["helm", "version"],
] as const;
const LOCK_POLL_MS = 500;

/**
 * The programs in KUBEBUILDER_ASSETS, else those built from test/kube-tools/go.mod, once, into the user's cache directory.
 * Of several processes that ask at once, one builds and the others wait for it.
 * @throws Error with one sentence that says what to install or set.
 */
export async function findKubeTools({ environment, onProgress }: FindKubeToolsOptions): Promise<KubeTools> {
  const given = environment.KUBEBUILDER_ASSETS;
  if (given !== undefined && given !== "") return await checkGiven(given);

  const cache = path.join(cacheDirectory(environment), "kube-tools");
  const directory = path.join(cache, await fingerprint());
  if (await isThere(directory)) return toolsIn(directory);
  await mkdir(cache, { recursive: true });
  for (let isWaiting = false; ; isWaiting = true) {
    const attempt = await tryLock(`${directory}.lock`);
    if (attempt.kind === "taken") {
      try {
        if (!(await isThere(directory))) await buildInto(directory, { environment, onProgress });
        return toolsIn(directory);
      } finally {
        await attempt.lock.release();
      }
    }
    if (!isWaiting) onProgress(`Waiting for process ${attempt.holder}, which builds the Kubernetes test tools …`);
    await sleep(LOCK_POLL_MS);
  }
}

function toolsIn(directory: string): KubeTools {
  const file = (name: (typeof PROGRAMS)[number][0]) => path.join(directory, name);
  return { apiServer: file("kube-apiserver"), etcd: file("etcd"), kubectl: file("kubectl"), helm: file("helm") };
}

async function checkGiven(directory: string): Promise<KubeTools> {
  for (const [name] of PROGRAMS) {
    const isExecutable = await access(path.join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isExecutable)
      throw new Error(`KUBEBUILDER_ASSETS is ${directory}, where there is no ${name}: put one there, or unset it.`);
  }
  return toolsIn(directory);
}

/** Which Go built them is left out: any that can build them does, and then they are no worse for it. */
async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["go.mod", "go.sum"]) hash.update(await readFile(path.join(MODULE, name)));
  hash.update(JSON.stringify([BUILD_FLAGS, process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function isThere(directory: string): Promise<boolean> {
  return access(directory).then(
    () => true,
    () => false,
  );
}

/** Only programs that run get the final directory's name, by one rename. */
async function buildInto(directory: string, { environment, onProgress }: FindKubeToolsOptions): Promise<void> {
  const workspace = `${directory}.building`;
  // What is there was left by one that was killed: nobody else builds while the lock is ours.
  await rm(workspace, { recursive: true, force: true });
  await mkdir(workspace);
  try {
    await buildKubeTools({ module: MODULE, output: workspace, environment, onProgress });
    for (const [name, ...parameters] of PROGRAMS) await run(path.join(workspace, name), parameters, { timeout: 60_000 });
    await rename(workspace, directory);
    onProgress(`The Kubernetes test tools are in ${directory}.`);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}
