import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFile, readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../local/cache-directory.ts";
import { installOnce } from "../test-run/install-once.ts";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";
import { createPythonEnvironment } from "../python/python.ts";

const run = promisify(execFile);

/**
 * The tools and SDKs that the tests of test/clients run: real packages, apart from the product's own. Asking for a program
 * of a part that could not be installed throws the reason: tests of the other parts run.
 */
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

/** What is installed, and cached, by itself. */
interface Part {
  name: string;
  /** Inside a sentence, with its size. */
  title: string;
  /** Files in test/clients that say which packages. */
  files: readonly string[];
  install(directory: string, environment: FindPackagesOptions["environment"]): Promise<void>;
}

const SOURCE = fileURLToPath(new URL("../../clients", import.meta.url));
const NODE_FILES = ["node/package.json", "node/package-lock.json", "node/.npmrc"];
const WITHIN_MS = 15 * 60_000;

const NODE: Part = {
  name: "node",
  title: "the coding tools from npm (about 400 MB)",
  files: NODE_FILES,
  install: installNodePackages,
};
const SDKS = pythonPart("sdks", {
  title: "the SDKs for Python (about 100 MB)",
  purpose: "The Python SDKs need",
  oldest: [3, 11],
});
const AIDER = pythonPart("aider", { title: "Aider (about 300 MB)", purpose: "Aider needs", oldest: [3, 10] });

/** Installs the packages of test/clients once, into the user's cache directory. */
export async function findClientPackages(options: FindPackagesOptions): Promise<ClientPackages> {
  const node = await findPart(NODE, options);
  const sdks = await findPart(SDKS, options);
  const aider = await findPart(AIDER, options);
  return {
    nodePackage: (name) => path.join(node(), "node_modules", name),
    sdkProgram: (name) => path.join(sdks(), "venv/bin", name),
    aiderProgram: (name) => path.join(aider(), "venv/bin", name),
  };
}

/** @returns the part's directory. @throws the reason if there is none. */
async function findPart(part: Part, { environment, onProgress }: FindPackagesOptions): Promise<() => string> {
  const directory = path.join(cacheDirectory(environment), "test-clients", `${part.name}-${await fingerprint(part)}`);
  try {
    await installOnce(directory, {
      async install() {
        onProgress(`Fetching ${part.title}, once …`);
        await part.install(directory, environment);
        onProgress(`${directory} has ${part.title}.`);
      },
      onWait: (holder) => onProgress(`Waiting for process ${holder}, which installs ${part.title} …`),
    });
  } catch (error) {
    if (!(error instanceof MissingPrerequisite)) throw error;
    onProgress(error.message);
    return () => {
      throw error;
    };
  }
  return () => directory;
}

async function fingerprint({ files }: Part): Promise<string> {
  const hash = createHash("sha256");
  for (const name of files) hash.update(await readFile(path.join(SOURCE, name)));
  hash.update(JSON.stringify([process.platform, process.arch]));
  return hash.digest("hex").slice(0, 16);
}

async function installNodePackages(directory: string, environment: FindPackagesOptions["environment"]): Promise<void> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new MissingPrerequisite(
      `The coding tools are pinned for Linux on x64, and this is ${process.platform} on ${process.arch}: run these tests there.`,
    );
  for (const name of NODE_FILES) await copyFile(path.join(SOURCE, name), path.join(directory, path.basename(name)));
  // Not `npm ci`: that wants every platform's optional packages in the lock file. The versions are the lock file's here, too.
  const words = ["install", "--no-save", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
  const settings = { cwd: directory, env: { ...environment }, timeout: WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
  await run("npm", words, settings).catch((error: unknown) => {
    const text = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    const reason = text.split("\n").find((line) => line.includes("error")) ?? String(error);
    throw new MissingPrerequisite(`npm could not fetch the coding tools (check the network and try again): ${reason}`, {
      cause: error,
    });
  });
}

function pythonPart(
  name: string,
  { title, ...needs }: { title: string; purpose: string; oldest: readonly [number, number] },
): Part {
  const file = `python/${name}.txt`;
  return {
    name,
    title,
    files: [file],
    install: (directory, environment) =>
      createPythonEnvironment(path.join(directory, "venv"), { requirements: path.join(SOURCE, file), environment, ...needs }),
  };
}
