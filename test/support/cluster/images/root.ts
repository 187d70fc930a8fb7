import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { HostSettings } from "../../../bare-roots/host.ts";

const run = promisify(execFile);
const WITHIN_MS = 20 * 60_000;
export const SUITE = "bookworm";

/** A minimal Debian as an archive, which reaches the registries as this machine does. */
export async function makeRoot(file: string, directory: string, host: HostSettings): Promise<void> {
  const root = await mkdtemp(path.join(directory, "root-"));
  const mirror = host.mirror === undefined ? [] : [host.mirror];
  const words = ["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, root, ...mirror];
  // Services that packages would start find no process of this machine, and all mounts are gone afterwards.
  const entered = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", ...words];
  try {
    await run("unshare", entered, { maxBuffer: 64 * 1024 * 1024, timeout: WITHIN_MS });
    await host.writeInto(root);
    const unneeded = ["var/cache/apt/archives", "var/lib/apt/lists"].map((folder) => `--exclude=./${folder}/*`);
    await run("tar", ["--create", "--file", file, "--directory", root, "--numeric-owner", ...unneeded, "."]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
