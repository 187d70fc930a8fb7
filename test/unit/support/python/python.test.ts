import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPythonEnvironment } from "../../../support/python/python.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-python-"));
  await mkdir(path.join(directory, "bin"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Makes an environment with a `python3` that notes how it is called and then does what the script says. */
async function create(script: string): Promise<string[]> {
  const calls = path.join(directory, "calls");
  await writeFile(path.join(directory, "bin/python3"), `#!/bin/sh\necho "$*" >> '${calls}'\n${script}\n`, { mode: 0o755 });
  await make(path.join(directory, "bin"));
  return (await readFile(calls, "utf8")).trimEnd().split("\n");
}

function make(searchPath: string): Promise<void> {
  return createPythonEnvironment(path.join(directory, "environment"), {
    requirements: "packages.txt",
    oldest: [3, 11],
    purpose: "The Python SDKs need",
    environment: { PATH: searchPath },
  });
}

test("without ensurepip, the machine's pip installs into an environment without one", async () => {
  const calls = await create(`[ "$3" != '${directory}/environment' ] || exit 1`);
  expect(calls.slice(1)).toEqual([
    `-m venv ${directory}/environment`,
    `-m venv --without-pip ${directory}/environment`,
    `-m pip --python ${directory}/environment/bin/python install --quiet --disable-pip-version-check --no-deps --only-binary :all: --ignore-requires-python -r packages.txt`,
  ]);
});

test("each missing prerequisite has its own sentence", async () => {
  await expect(make("/nowhere")).rejects.toThrow(
    "The Python SDKs need Python 3, and there is none: install python3 and python3-pip.",
  );
  await expect(create("exit 1")).rejects.toThrow("The Python SDKs need Python 3.11 or later, and python3 is older: install one.");
  const failing = (when: string, stderr: string) =>
    create(`case "$*" in '-m venv ${directory}/environment') exit 1 ;; ${when}) echo '${stderr}' >&2; exit 1 ;; esac`);
  await expect(failing("'-m pip'*", "/usr/bin/python3: No module named pip")).rejects.toThrow(
    "The Python SDKs need pip, and python3 has none: install python3-pip.",
  );
  await expect(failing("'-m pip'*", "no such option: --python")).rejects.toThrow(
    "The Python SDKs need a Python that can make virtual environments: install python3-venv.",
  );
  await expect(failing("'-m pip'*", "ERROR: No matching distribution found for jiter==0.19.0")).rejects.toThrow(
    "The Python SDKs need packages of the Python package index, and pip could not install them (check the network and try again): No matching distribution found for jiter==0.19.0.",
  );
});
