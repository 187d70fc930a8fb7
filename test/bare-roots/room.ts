import { chown, copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import { runLogged, type Logged } from "./command.ts";
import type { HostSettings } from "./host.ts";

/** A copy of a bare root that one walk may change. */
export interface Room {
  /** Runs a script of inside/ as the walker, in namespaces that end with it. */
  run(script: string, options?: { command?: string; network?: "host" | "loopback" }): Promise<Logged>;
  remove(): Promise<void>;
}

export interface RoomOptions {
  base: string;
  /** Of the repository, made by git. */
  bundle: string;
  walker: "newcomer" | "root";
  cache: string;
  host: HostSettings;
  signal: AbortSignal;
  /** Changes the upper layer before anybody enters. */
  prepare(upper: string): Promise<void>;
}

const INSIDE = path.join(import.meta.dirname, "inside");
const WITHIN_MS = 2 * 60 * 60_000;
const SCRIPTS = ["clone.sh", "start.sh", "test.sh"];

export async function openRoom({ base, bundle, walker, cache, host, signal, prepare }: RoomOptions): Promise<Room> {
  const directory = await mkdtemp(path.join(cache, "walk-"));
  const within = (name: string) => path.join(directory, name);
  for (const name of ["upper", "work", "merged", "shared"]) await mkdir(within(name));
  // Whoever edits the scripts meanwhile does not change this walk.
  await copyFile(path.join(INSIDE, "enter.sh"), within("enter.sh"));
  for (const name of SCRIPTS) await copyFile(path.join(INSIDE, name), path.join(within("shared"), name));
  await copyFile(bundle, path.join(within("shared"), "repository.bundle"));
  await host.writeInto(within("upper"));
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 });
  try {
    await prepare(within("upper"));
  } catch (error) {
    await remove();
    throw error;
  }

  const home = walker === "root" ? "/root" : "/home/newcomer";
  const id = walker === "root" ? 0 : 1000;
  // What npm and pip have downloaded serves the next walk: what is tried is not the network.
  const downloads = path.join(cache, `downloads-${walker}`);
  for (const name of ["npm", "pip"]) {
    await mkdir(path.join(downloads, name), { recursive: true });
    await chown(path.join(downloads, name), id, id);
  }

  return {
    run(script, { command = "", network = "host" } = {}) {
      const environment = {
        PATH: "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
        LOWER: base,
        UPPER: within("upper"),
        WORK: within("work"),
        MERGED: within("merged"),
        SHARED: within("shared"),
        DOWNLOADS: downloads,
        NETWORK: network,
        WALKER: walker,
        WALKER_ID: String(id),
        WALKER_HOME: home,
        SCRIPT: script,
      };
      const inside = {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: home,
        USER: walker,
        LANG: "C.UTF-8",
        TERM: "dumb",
        COMMAND: command,
        ...host.environment,
      };
      const namespaces = ["--mount", "--pid", "--fork", "--kill-child", ...(network === "loopback" ? ["--net"] : [])];
      const variables = Object.entries(inside).map(([name, value]) => `${name}=${value}`);
      const words = [...namespaces, "sh", within("enter.sh"), ...variables];
      return runLogged("unshare", words, { environment, withinMs: WITHIN_MS, signal });
    },
    remove,
  };
}
