import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { installOnce } from "../support/test-run/install-once.ts";

const run = promisify(execFile);

/** A Node.js and an npm of these versions, or Debian's own. */
export type Toolchain = { kind: "debian" } | { kind: "packages"; node: string; npm: string };

export function toolchainName(toolchain: Toolchain): string {
  return toolchain.kind === "debian" ? "Debian's own" : `Node ${toolchain.node}, npm ${toolchain.npm}`;
}

/** Puts them where an installer would: /usr/local. Both come from npm packages, fetched once. */
export async function installToolchain(
  root: string,
  { node, npm }: { node: string; npm: string },
  { cache, onProgress }: { cache: string; onProgress: (line: string) => void },
): Promise<void> {
  const nodeFiles = await findPackage(`node-linux-${process.arch}@${node}`, { cache, onProgress });
  const npmFiles = await findPackage(`npm@${npm}`, { cache, onProgress });
  const bin = path.join(root, "usr/local/bin");
  const modules = path.join(root, "usr/local/lib/node_modules");
  await mkdir(bin, { recursive: true });
  await mkdir(modules, { recursive: true });
  await run("cp", ["-a", path.join(nodeFiles, "bin/node"), path.join(bin, "node")]);
  await run("cp", ["-a", npmFiles, path.join(modules, "npm")]);
  await run("chown", ["-R", "0:0", modules]);
  for (const name of ["npm", "npx"]) await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(bin, name));
}

/** The unpacked files of the newest version that a range names. */
async function findPackage(
  wanted: string,
  { cache, onProgress }: { cache: string; onProgress: (line: string) => void },
): Promise<string> {
  const directory = path.join(cache, wanted);
  await installOnce(directory, {
    async install() {
      onProgress(`Fetching ${wanted}, once …`);
      const workspace = await mkdtemp(path.join(cache, "fetching-"));
      try {
        await run("npm", ["pack", "--silent", wanted], { cwd: workspace });
        const archives = (await readdir(workspace)).filter((name) => name.endsWith(".tgz"));
        await run("tar", ["-xzf", path.join(workspace, archives.toSorted().at(-1) ?? ""), "-C", directory]);
      } finally {
        await rm(workspace, { recursive: true, force: true });
      }
    },
    onWait: (holder) => onProgress(`Waiting for process ${holder}, which fetches ${wanted} …`),
  });
  return path.join(directory, "package");
}
