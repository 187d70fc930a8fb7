import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
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
const NODE = `node-24.21.0-linux-${process.arch}`;
const FETCHING = "Fetching Node.js 24.21.0 once, 50 MB …\n";

/** A home, a checkout of its own in it, and a registry that has the package `node-linux-…`. */
let home: string;
let checkout: string;
let cache: string;

beforeEach(async () => {
  home = await mkdtemp(path.join(tmpdir(), "gateway-node-path-"));
  checkout = path.join(home, "checkout");
  cache = path.join(home, ".cache", "model-gateway");
  await mkdir(path.join(checkout, "node_modules"), { recursive: true });
  await copyFile(path.join(ROOT, "node-path.cjs"), path.join(checkout, "node-path.cjs"));
  await publish("echo v24.21.0");
});
afterEach(() => rm(home, { recursive: true }));

interface Pretended {
  version: string;
  platform?: string;
  arch?: string;
  environment?: Record<string, string>;
}

/** Runs it in a Node that says it is another one. */
async function nodePath({ version, platform = "linux", arch = process.arch, environment = {} }: Pretended) {
  const pretend = path.join(checkout, "pretend.cjs");
  const properties = { version: `v${version}`, versions: { node: version }, platform, arch };
  const lines = Object.entries(properties).map(
    ([name, value]) => `Object.defineProperty(process, ${JSON.stringify(name)}, { value: ${JSON.stringify(value)} });`,
  );
  await writeFile(pretend, lines.join("\n"));
  const child = spawn(process.execPath, ["--require", pretend, "node-path.cjs"], {
    cwd: checkout,
    env: { HOME: home, PATH: SEARCH_PATH, npm_execpath: path.join(home, "npm-cli.js"), ...environment },
  });
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, out, error };
}

/** Packs a shell script as the program Node, has npm deliver it, and pins its hash. */
async function publish(script: string): Promise<void> {
  const name = `node-linux-${process.arch}-24.21.0.tgz`;
  const bin = path.join(home, "package", "bin");
  await mkdir(bin, { recursive: true });
  // A longer file before it, as in the real one.
  await writeFile(path.join(home, "package", "LICENSE"), "x".repeat(1300));
  await writeFile(path.join(bin, "node"), `#!/bin/sh\n${script}\n`);
  await run("tar", ["-czf", name, "package/LICENSE", "package/bin/node"], { cwd: home });
  await npmDoes(
    `fs.copyFileSync(${JSON.stringify(path.join(home, name))}, path.join(words[words.indexOf("--pack-destination") + 1], ${JSON.stringify(name)}))`,
  );
  const hash = createHash("sha512")
    .update(await readFile(path.join(home, name)))
    .digest("base64");
  const source = await readFile(path.join(ROOT, "fetch-node.cjs"), "utf8");
  await writeFile(path.join(checkout, "fetch-node.cjs"), source.replaceAll(/"sha512-[^"]+"/g, `"sha512-${hash}"`));
}

/** Adds a line to a file for each run, besides what it does. */
async function npmDoes(statement: string): Promise<void> {
  await writeFile(
    path.join(home, "npm-cli.js"),
    `const fs = require("fs"), path = require("path"), words = process.argv.slice(2);
    fs.appendFileSync(${JSON.stringify(path.join(home, "npm.log"))}, words[0] + " " + words[1] + "\\n");
    console.log("printed by npm");
    ${statement};`,
  );
}

const npmRuns = () => readFile(path.join(home, "npm.log"), "utf8");
const found = (directory: string, error = "") => ({
  code: 0,
  out: `${path.join(directory, NODE, "bin")}:${SEARCH_PATH}\n`,
  error,
});

describe("the PATH of npm scripts", () => {
  test("is the machine's own if it has Node 24 or later", async () => {
    const own = { code: 0, out: `${SEARCH_PATH}\n`, error: "" };
    expect(await nodePath({ version: "24.0.0" })).toStrictEqual(own);
    expect(await nodePath({ version: "26.1.0", platform: "darwin" })).toStrictEqual(own);
    await expect(npmRuns()).rejects.toThrow("ENOENT");
  });

  test.for(["12.22.12", "18.20.4", "23.11.0"])(
    "begins with a Node that npm downloads once, into the user's cache directory (started by Node %s)",
    async (version) => {
      expect(await nodePath({ version })).toStrictEqual(found(cache, FETCHING));
      expect(await nodePath({ version })).toStrictEqual(found(cache));
      expect(await npmRuns()).toBe(`pack node-linux-${process.arch}@24.21.0\n`);
      expect(await readdir(cache)).toStrictEqual([NODE]);
    },
  );

  test("uses XDG_CACHE_HOME", async () => {
    const other = path.join(home, "other");
    expect(await nodePath({ version: "20.0.0", environment: { XDG_CACHE_HOME: other } })).toStrictEqual(
      found(path.join(other, "model-gateway"), FETCHING),
    );
    expect(await nodePath({ version: "20.0.0", environment: { XDG_CACHE_HOME: "relative" } })).toStrictEqual(
      found(cache, FETCHING),
    );
  });

  test("uses a directory next to the packages if the cache directory cannot be written", async () => {
    await writeFile(path.join(home, ".cache"), "no directory");
    const beside = path.join(checkout, "node_modules", ".cache", "model-gateway");
    expect(await nodePath({ version: "20.0.0" })).toStrictEqual(found(beside, FETCHING));
    expect(await nodePath({ version: "20.0.0" })).toStrictEqual(found(beside));
  });

  test("is right for concurrent scripts, and the remains of an interrupted one are removed", async () => {
    const [old, young] = ["old", "young"].map((name) => path.join(cache, `${NODE}.fetching-${name}`));
    for (const directory of [old, young]) {
      await mkdir(directory ?? "", { recursive: true });
      await writeFile(path.join(directory ?? "", "part.tgz"), "part");
    }
    await utimes(old ?? "", 0, 0);
    const all = await Promise.all(Array.from({ length: 4 }, () => nodePath({ version: "20.0.0" })));
    for (const { code, out } of all) expect({ code, out }).toMatchObject({ code: 0, out: found(cache).out });
    expect(await readdir(cache)).toStrictEqual([NODE, path.basename(young ?? "")]);
  });
});

describe("without Node 24, one sentence explains the remedy", () => {
  const TOO_OLD = "Model Gateway needs Node.js 24 or later, and this is v22.15.0";
  const refusal = (sentence: string, before = "") => ({ code: 1, out: "", error: `${before}${sentence}\n` });
  const notFetched = (reason: string) =>
    refusal(
      `${TOO_OLD}; Node.js 24.21.0 could not be fetched (${reason}): check the network and npm's settings, or install Node.js 24 or later.`,
      FETCHING,
    );

  test("before npm ci", async () => {
    await rm(path.join(checkout, "node_modules"), { recursive: true });
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(refusal("The packages are not installed: run npm ci first."));
  });

  test("on another system or processor", async () => {
    const install = refusal(`${TOO_OLD}: install Node.js 24 or later.`);
    expect(await nodePath({ version: "22.15.0", platform: "darwin" })).toStrictEqual(install);
    expect(await nodePath({ version: "22.15.0", arch: "riscv64" })).toStrictEqual(install);
  });

  test("without a network", async () => {
    await npmDoes(`console.error("npm error code ECONNREFUSED\\nnpm error errno ECONNREFUSED"); process.exit(1)`);
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      notFetched(`npm pack node-linux-${process.arch}@24.21.0 failed: ECONNREFUSED`),
    );
    expect(await readdir(cache)).toStrictEqual([NODE]);
  });

  test("if npm cannot write its own cache", async () => {
    await npmDoes(`console.error("npm error code EACCES\\nnpm error syscall mkdir"); process.exit(1)`);
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      notFetched(`npm pack node-linux-${process.arch}@24.21.0 failed: EACCES on npm's cache; npm_config_cache sets another`),
    );
  });

  test("without npm", async () => {
    expect(await nodePath({ version: "22.15.0", environment: { PATH: checkout, npm_execpath: "/other/yarn.js" } })).toStrictEqual(
      notFetched("there is no npm on the PATH"),
    );
  });

  test("if the registry has other bytes than the pinned ones", async () => {
    await npmDoes(
      `fs.writeFileSync(path.join(words[words.indexOf("--pack-destination") + 1], "node-linux-${process.arch}-24.21.0.tgz"), "other")`,
    );
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      notFetched(`the registry's node-linux-${process.arch}@24.21.0 differs from the pinned one`),
    );
    expect(await readdir(path.join(cache, NODE, "bin"))).toStrictEqual([]);
  });

  test("if neither directory can be written", async () => {
    await writeFile(path.join(home, ".cache"), "no directory");
    await writeFile(path.join(checkout, "node_modules", ".cache"), "no directory");
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      refusal(
        `${TOO_OLD}; Node.js 24.21.0 cannot be fetched into ${cache} or ${checkout}/node_modules/.cache/model-gateway, because neither is writable: install Node.js 24 or later.`,
      ),
    );
  });

  test("if the downloaded one does not run", async () => {
    await publish("exit 127");
    expect(await nodePath({ version: "22.15.0" })).toStrictEqual(
      refusal(
        `${TOO_OLD}; ${path.join(cache, NODE, "bin", "node")} does not run on this machine: install Node.js 24 or later.`,
        FETCHING,
      ),
    );
  });
});

describe("npm scripts", () => {
  test("all run on that Node, and no process is between npm and the program", async () => {
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
    const bin = path.join(home, "bin");
    await mkdir(bin);
    await writeFile(path.join(bin, "node"), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
    await chmod(path.join(bin, "node"), 0o755);
    const env = { HOME: home, PATH: `${bin}:${SEARCH_PATH}` };
    const program = "process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1000); console.log('up')";
    const script = `PATH=$(node node-path.cjs) && exec node --eval "${program}"`;
    const child = spawn("/bin/sh", ["-c", script], { cwd: checkout, env });
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toStrictEqual([7, null]);
    await expect(run("/bin/sh", ["-c", "PATH=$(exit 1) && exec node"], { cwd: checkout })).rejects.toMatchObject({ code: 1 });
  });
});
