import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { errorCode } from "../../../runtime/error-code.ts";
import { cached } from "../cached.ts";
import { fingerprint } from "../fingerprint.ts";

const run = promisify(execFile);

/**
 * Path of the program in this folder, built once into the user's cache directory.
 * @throws Error with one sentence that says what to install.
 */
export async function loadProgram(): Promise<string> {
  const sources = (await readdir(import.meta.dirname)).filter((name) => /\.go$|^go\.mod$/.test(name)).sort();
  const files = sources.map((name) => path.join(import.meta.dirname, name));
  const directory = await cached(`load-${await fingerprint(files)}`, build);
  return path.join(directory, "load");
}

async function build(directory: string): Promise<void> {
  const parameters = ["build", "-trimpath", "-buildvcs=false", "-o", path.join(directory, "load"), "."];
  const environment = { ...process.env, CGO_ENABLED: "0", GOWORK: "off" };
  await run("go", parameters, { cwd: import.meta.dirname, env: environment }).catch((error: unknown) => {
    const isMissing = errorCode(error) === "ENOENT";
    throw new Error(
      isMissing
        ? "The bench's load is built with Go, and there is no go on PATH: install Go 1.24 or later."
        : "The bench's load could not be built: its Go error is the cause.",
      { cause: error },
    );
  });
}
