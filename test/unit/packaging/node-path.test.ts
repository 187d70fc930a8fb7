import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";

const run = promisify(execFile);
const ROOT = path.join(import.meta.dirname, "../../..");
const SEARCH_PATH = "/usr/bin:/bin";

/** A checkout of its own, whose packages are what a test puts there. */
let checkout: string;
let packaged: string;

beforeEach(async () => {
  checkout = await mkdtemp(path.join(tmpdir(), "gateway-node-path-"));
  packaged = path.join(checkout, "node_modules", `node-linux-${process.arch}`, "bin");
  await copyFile(path.join(ROOT, "node-path.cjs"), path.join(checkout, "node-path.cjs"));
});
afterEach(() => rm(checkout, { recursive: true }));

interface Pretended {
  version: string;
  platform?: string;
}

/** Runs it in a Node that says it is another one. */
async function nodePath({
  version,
  platform = "linux",
}: Pretended): Promise<{ code: number | null; out: string; error: string }> {
  const pretend = path.join(checkout, "pretend.cjs");
  const properties = { version: `v${version}`, versions: { node: version }, platform };
  const lines = Object.entries(properties).map(
    ([name, value]) => `Object.defineProperty(process, ${JSON.stringify(name)}, { value: ${JSON.stringify(value)} });`,
  );
  await writeFile(pretend, lines.join("\n"));
  const child = spawn(process.execPath, ["--require", pretend, "node-path.cjs"], { cwd: checkout, env: { PATH: SEARCH_PATH } });
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, out, error };
}

async function installNode(script: string): Promise<void> {
  await mkdir(packaged, { recursive: true });
  await writeFile(path.join(packaged, "node"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

describe("the PATH of npm scripts", () => {
  test.for(["12.22.12", "18.20.4", "24.21.0", "26.0.0"])(
    "begins with the Node that npm installed, whether or not npm linked it (started by Node %s)",
    async (version) => {
      await installNode("echo v24.21.0");
      expect(await nodePath({ version })).toStrictEqual({ code: 0, out: `${packaged}:${SEARCH_PATH}\n`, error: "" });
    },
  );

  test("is the machine's own where Node 24 or later is on it and none was installed, or one that does not run", async () => {
    await mkdir(path.join(checkout, "node_modules"));
    const own = { code: 0, out: `${SEARCH_PATH}\n`, error: "" };
    expect(await nodePath({ version: "24.0.0" })).toStrictEqual(own);
    expect(await nodePath({ version: "26.1.0", platform: "darwin" })).toStrictEqual(own);
    await installNode("exit 127");
    expect(await nodePath({ version: "24.0.0" })).toStrictEqual(own);
  });
});

describe("where there is no Node 24, one sentence says what to do", () => {
  const refusal = (sentence: string) => ({ code: 1, out: "", error: `${sentence}\n` });
  const TOO_OLD = "Model Gateway needs Node.js 24 or later, and this is v22.15.0";

  test("before npm ci", async () => {
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(refusal("The packages are not installed: run npm ci first."));
  });

  test("on Linux without the optional packages", async () => {
    await mkdir(path.join(checkout, "node_modules"));
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      refusal(`${TOO_OLD}: install Node.js 24, or run npm ci without --omit=optional, and npm installs it.`),
    );
  });

  test("where the one that npm installed does not run", async () => {
    await installNode("exit 127");
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      refusal(`${TOO_OLD}; the one that npm installed does not run on this machine: install Node.js 24.`),
    );
  });

  test("on macOS", async () => {
    await installNode("echo v24.21.0");
    expect(await nodePath({ version: "22.15.0", platform: "darwin" })).toStrictEqual(refusal(`${TOO_OLD}: install Node.js 24.`));
  });
});

describe("npm scripts", () => {
  test("all run on that Node, and none stands between npm and the program", async () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")));
    const others = Object.values(scripts).filter(
      (script) => !/^PATH=\$\(node node-path\.cjs\) (?:&& exec|\|\| exit;) /.test(script),
    );
    // Which start nothing but npm scripts and npm itself.
    expect(others.filter((script) => !/^(?:npm run [\w:]+( && )?)+$|^\.ci\/(?:sbom|audit)$/.test(script))).toStrictEqual([]);
  });

  test("pass on exit codes and signals", async () => {
    await installNode(`exec '${process.execPath}' "$@"`);
    const program = "process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')";
    const script = `PATH=$('${process.execPath}' node-path.cjs) && exec node --eval "${program}"`;
    const child = spawn("/bin/sh", ["-c", script], { cwd: checkout, env: { PATH: SEARCH_PATH } });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toStrictEqual([7, null]);
    await expect(run("/bin/sh", ["-c", "PATH=$(exit 1) && exec node"], { cwd: checkout })).rejects.toMatchObject({ code: 1 });
  });
});
