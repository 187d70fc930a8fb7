import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../../runtime/error-code.ts";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";

const run = promisify(execFile);
const WITHIN_MS = 15 * 60_000;
const INSTALL = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"];

/** The machine's Python, as tests use it. Each failure is one sentence that begins with `purpose`, such as "Aider needs". */
export interface PythonOptions {
  environment: Readonly<Record<string, string | undefined>>;
  purpose: string;
}

/**
 * Makes a virtual environment with these packages. Debian splits `ensurepip` off into python3-venv: without it the
 * environment has no pip of its own, and the machine's pip installs into it.
 */
export async function createPythonEnvironment(
  directory: string,
  { requirements, oldest, ...options }: PythonOptions & { requirements: string; oldest: readonly [number, number] },
): Promise<void> {
  const oldestText = oldest.join(".");
  const check = `import sys; sys.exit(sys.version_info < (${oldest.join(", ")}))`;
  await python(["-c", check], options, () => `Python ${oldestText} or later, and python3 is older: install one`);
  const program = path.join(directory, "bin", "python");
  const pip = await run("python3", ["-m", "venv", directory], { env: { ...options.environment }, timeout: WITHIN_MS }).then(
    () => ({ program, words: ["-m", "pip"] }),
    () => ({ program: "python3", words: ["-m", "pip", "--python", program] }),
  );
  if (pip.program !== program) {
    await rm(directory, { recursive: true, force: true });
    await python(["-m", "venv", "--without-pip", directory], options, pythonComplaint);
  }
  // A package may refuse a newer Python in its metadata and run on it all the same, which the tests find out.
  const words = [...pip.words, ...INSTALL, "--ignore-requires-python", "-r", requirements];
  await python(words, options, pythonComplaint, pip.program);
}

/** Installs packages of one requirements file into a plain folder. Every one has to have a hash in it. */
export async function installPinnedPackages(directory: string, requirements: string, options: PythonOptions): Promise<void> {
  const words = ["-m", "pip", ...INSTALL, "--require-hashes", "--target", directory, "-r", requirements];
  await python(words, options, pythonComplaint);
}

async function python(
  words: readonly string[],
  { environment, purpose }: PythonOptions,
  complaintOf: (stderr: string) => string,
  program = "python3",
): Promise<void> {
  try {
    await run(program, words, { env: { ...environment }, timeout: WITHIN_MS, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const isAbsent = errorCode(error) === "ENOENT";
    const stderr = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
    const complaint = isAbsent ? "Python 3, and there is none: install python3 and python3-pip" : complaintOf(stderr);
    throw new MissingPrerequisite(`${purpose} ${complaint}.`, { cause: error });
  }
}

function pythonComplaint(stderr: string): string {
  if (stderr.includes("No module named pip")) return "pip, and python3 has none: install python3-pip";
  if (stderr.includes("No module named venv") || stderr.includes("no such option: --python"))
    return "a Python that can make virtual environments: install python3-venv";
  const lines = stderr.split("\n").filter((line) => line.startsWith("ERROR: "));
  const reason = (lines.at(-1) ?? stderr.trim().split("\n").at(-1) ?? "").replace(/^ERROR: /, "");
  return `packages of the Python package index, and pip could not install them (check the network and try again): ${reason}`;
}
