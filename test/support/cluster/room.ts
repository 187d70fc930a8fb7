import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, open, readFile, rmdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { eventually } from "../eventually.ts";

const run = promisify(execFile);
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const ENTER_WITHIN_MS = 30_000;
const COMMAND_WITHIN_MS = 240_000;

/** Namespaces for network, mounts and process ids, in which a cluster runs. */
export interface Room {
  /** Of its first process, as the machine sees it. */
  readonly pid: number;
  /** Runs a program in it to its end. @returns what it printed. */
  run(words: readonly string[], options?: { input?: string }): Promise<string>;
  /** Starts a program in it that runs until the room closes. Its log is `<directory>/logs/<name>.log`. */
  start(name: string, words: readonly string[], environment?: Readonly<Record<string, string>>): Promise<ChildProcess>;
  /** Sends SIGKILL to the program that was started under this name. */
  kill(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Folders of the machine that stand for the room's own; made if missing, and removed afterwards. */
const MOUNT_POINTS = ["/var/lib/cni", "/var/lib/kubelet"];

export async function openRoom(directory: string, address: string): Promise<Room> {
  const made: string[] = [];
  for (const folder of MOUNT_POINTS) if ((await mkdir(folder, { recursive: true })) !== undefined) made.push(folder);
  await mkdir(path.join(directory, "logs"), { recursive: true });
  const log = await open(path.join(directory, "logs/init.log"), "a");
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
  const script = path.join(import.meta.dirname, "inside/init.sh");
  const outer = spawn("unshare", [...namespaces, "bash", script, directory, address], {
    detached: true,
    env: { PATH },
    stdio: ["pipe", log.fd, log.fd],
  });
  await log.close();
  const closed = once(outer, "close");
  const close = async () => {
    outer.stdin?.end();
    await closed;
    for (const folder of made) await rmdir(folder).catch(() => {});
  };
  try {
    const complaint = async () => await readFile(path.join(directory, "logs/init.log"), "utf8");
    const failed = closed.then(async () => {
      throw new Error(`The cluster's namespaces could not be made: ${(await complaint()).trim()}`);
    });
    const entered = eventually(() => access(path.join(directory, "entered")), { withinMs: ENTER_WITHIN_MS });
    await Promise.race([entered, failed]);
    failed.catch(() => {});
    return { ...inRoom(directory, await onlyChild(outer.pid ?? 0)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `unshare --fork` stays outside, and has one child. */
async function onlyChild(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
  if (children.length !== 1) throw new Error(`unshare has ${children.length} children.`);
  return Number(children[0]);
}

/** A room that is open already. */
export function inRoom(directory: string, pid: number): Omit<Room, "close"> {
  const enter = ["--target", String(pid), "--net", "--mount", "--pid", `--wd=${process.cwd()}`, "--"];
  const idFile = (name: string) => path.join(directory, `${name}.pid`);
  return {
    pid,
    async kill(name) {
      await run("nsenter", [...enter, "bash", "-c", 'kill -KILL "$(< "$0")"', idFile(name)], { env: { PATH } });
    },
    async run(words, { input = "" } = {}) {
      const running = run("nsenter", [...enter, ...words], {
        env: { PATH, HOME: directory },
        maxBuffer: 64 * 1024 * 1024,
        timeout: COMMAND_WITHIN_MS,
      });
      // A program that exits without reading it reports the reason in another way.
      running.child.stdin?.on("error", () => {});
      running.child.stdin?.end(input);
      return (await running).stdout;
    },
    async start(name, words, environment = {}) {
      const log = await open(path.join(directory, `logs/${name}.log`), "a");
      // Its id in the namespace, which is another one outside.
      const recording = ["bash", "-c", 'echo $$ > "$0"; exec "$@"', idFile(name)];
      const child = spawn("nsenter", [...enter, ...recording, ...words], {
        env: { PATH, HOME: directory, ...environment },
        stdio: ["ignore", log.fd, log.fd],
      });
      await once(child, "spawn");
      await log.close();
      return child;
    },
  };
}
