import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { COMPILE_CACHE } from "../test-run/compile-cache.ts";
import { eventually } from "../eventually.ts";
import { copyPostgresTemplate } from "../billing/postgres-template.ts";

const MAIN = fileURLToPath(new URL("../../../local/main.ts", import.meta.url));

/** `npm start` as a process of its own, in a group of its own, as a terminal would run it. */
export interface LocalProcess {
  readonly pid: number;
  /** Everything it has shown so far. */
  output(): string;
  /** Waits until it has shown this. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
  /** Exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Process ids of its parts by name, Postgres left out. */
  parts(): Promise<Record<string, number>>;
}

/** Looking at every process of the machine takes a while itself. */
export const LOOK_EVERY_MS = 250;

const partsSchema = z.array(z.object({ name: z.string(), pid: z.int() }));

/**
 * A data directory for stacks, which goes with whatever still runs there.
 *
 * @param atEnd takes what has to be done when no test needs it any more.
 */
export async function makeHome(atEnd: (clean: () => Promise<void>) => void = onTestFinished) {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-local-"));
  const data = path.join(directory, "data");

  /**
   * Processes that a stack of this directory has left: each has the directory in its environment (as HOME) or in its
   * command line.
   */
  async function survivors(): Promise<string[]> {
    const found = await Promise.all(
      (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map((pid) => describe(pid, directory)),
    );
    return found.filter((each) => each !== undefined);
  }

  async function start(words: readonly string[] = [], environment: Record<string, string> = {}): Promise<LocalProcess> {
    const child = spawn(process.execPath, [MAIN, "--port", "0", "--data", data, ...words], {
      // HOME marks the processes; the cache stays where it is, or Envoy would be fetched anew.
      env: { XDG_CACHE_HOME: path.join(homedir(), ".cache"), ...process.env, ...COMPILE_CACHE, HOME: directory, ...environment },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    const exited = Promise.withResolvers<number | null>();
    child.once("close", (code) => exited.resolve(code));
    return {
      pid: child.pid ?? 0,
      output: () => output,
      exited: exited.promise,
      shows: (pattern) =>
        eventually(
          () => {
            const match = pattern.exec(output);
            if (match === null) throw new Error(`Not shown: ${pattern}. Shown: ${output}`);
            return match;
          },
          { withinMs: 60_000 },
        ),
      async parts() {
        const records = partsSchema.parse(JSON.parse(await readFile(path.join(data, "processes.json"), "utf8")));
        return Object.fromEntries(records.map(({ name, pid }) => [name, pid]));
      },
    };
  }

  atEnd(async () => {
    for (const each of await survivors()) process.kill(Number.parseInt(each, 10), "SIGKILL");
    await eventually(
      async () => {
        if ((await survivors()).length > 0) throw new Error("still running");
      },
      { everyMs: LOOK_EVERY_MS },
    );
    await rm(directory, { recursive: true, force: true });
  });
  return { directory, data, start, survivors };
}

/** One whose database has been migrated: the start of a test that is not about the first one takes half of the time. */
export async function makeMigratedHome(atEnd?: (clean: () => Promise<void>) => void) {
  const home = await makeHome(atEnd);
  await mkdir(home.data);
  await copyPostgresTemplate(path.join(home.data, "postgres"));
  return home;
}

export type Home = Awaited<ReturnType<typeof makeHome>>;

/** "pid command", if the process belongs to the directory. */
async function describe(pid: string, directory: string): Promise<string | undefined> {
  const [command, environment] = await Promise.all([read(`/proc/${pid}/cmdline`), read(`/proc/${pid}/environ`)]);
  const belongs = command.includes(directory) || environment.includes(directory);
  // A zombie has no command line any more.
  return belongs && command !== "" && pid !== String(process.pid) ? `${pid} ${command}` : undefined;
}

async function read(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.replaceAll("\0", " ");
}
