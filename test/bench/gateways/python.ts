import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { cached } from "../cached.ts";
import { fingerprint } from "../fingerprint.ts";

const run = promisify(execFile);

/**
 * Installs packages from wheels into a virtual environment of the cache, once for each content of the requirements.
 * @param requirements path of a pip requirements file.
 * @returns path of the environment's Python.
 */
export async function installPython(name: string, requirements: string): Promise<string> {
  const directory = await cached(`${name}-${await fingerprint([requirements])}`, async (empty) => {
    await run("python3", ["-m", "venv", empty]);
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "-r", requirements];
    await run(path.join(empty, "bin/python"), pip);
  });
  return path.join(directory, "bin/python");
}
