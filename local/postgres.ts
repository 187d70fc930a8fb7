import { spawn, type ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, isPortFree, LOOPBACK } from "./process/ports.ts";
import { findPostgresBinaries } from "./postgres/binaries.ts";
import { prepareCluster, SUPERUSER, type Cluster } from "./postgres/cluster.ts";
import { commandAs, SYSTEM_PATH } from "./postgres/identity.ts";
import { guardOrphan } from "./process/orphan-guard.ts";
import { commandLine, stopProcess, type StopStep } from "./process/processes.ts";

export interface PostgresOptions {
  /** Created if missing; contains the cluster and its password. One server at a time. */
  dataDirectory: string;
  /** A free one if absent. */
  port?: number;
  log?: (line: string) => void;
}

export interface Postgres {
  /** Connection string of the superuser and the database `postgres`. It contains the password: not for logs. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server exits, and never rejects. */
  readonly ended: Promise<string>;
  /** Ends sessions, writes all data, and exits. */
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;
const POLL_MS = 20;
/** The second is for a replica. */
const READY_STATES: ReadonlySet<string> = new Set(["ready", "standby"]);
/** A free port may be taken, or a killed server's last session may be ending, while we start. */
const ATTEMPTS = 5;
const ATTEMPT_PAUSE_MS = 300;

/** Fast shutdown (sessions are cut, data is written), then immediate shutdown (recovery at the next start). */
const STOP_STEPS: readonly StopStep[] = [
  { signal: "SIGINT", waitMs: 20_000 },
  { signal: "SIGQUIT", waitMs: 5_000 },
  { signal: "SIGKILL", waitMs: 5_000 },
];

/**
 * Starts PostgreSQL 18 on the loopback address in a separate process group, so that a Ctrl-C in the terminal does not stop it
 * before its clients. A server left over on this data directory is stopped first.
 * @throws Error with one sentence that explains the remedy.
 */
export async function startPostgres({ dataDirectory, port, log = () => {} }: PostgresOptions): Promise<Postgres> {
  const binaries = await findPostgresBinaries();
  const cluster = await prepareCluster({ binaries, dataDirectory: path.resolve(dataDirectory), log });
  await stopLeftover(cluster.directory, log);
  if (port !== undefined && !(await isPortFree(port))) throw new Error(busy(port));

  for (let attempt = 1; ; attempt++) {
    const chosenPort = port ?? (await freePort());
    const server = await launch(binaries.postgres, cluster, chosenPort, log);
    const failure = await untilReady(server, cluster.directory);
    if (failure === undefined) return handle(server, cluster, chosenPort);
    await server.stop();
    if (port !== undefined && isPortTrouble(failure)) throw new Error(busy(port));
    if (attempt === ATTEMPTS || !isPassing(failure)) throw new Error(startFailure(failure, path.dirname(cluster.directory)));
    await sleep(ATTEMPT_PAUSE_MS);
  }
}

/** Stops a server that a killed stack left running on this cluster, if any. */
async function stopLeftover(clusterDirectory: string, log: (line: string) => void): Promise<void> {
  const status = await readStatus(clusterDirectory);
  if (status === undefined) return;
  // The id may belong to another process by now: only a process that serves this directory is stopped.
  const command = await commandLine(status.pid);
  if (command === undefined || !command.includes(` -D ${clusterDirectory} `)) return;
  log(`Stopping PostgreSQL ${status.pid}, left over from an earlier run on this data directory.`);
  await stopProcess(status.pid, STOP_STEPS);
}

interface Server {
  child: ChildProcess;
  /** Last lines it wrote. */
  lines: string[];
  ended: Promise<string>;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

async function launch(program: string, cluster: Cluster, port: number, log: (line: string) => void): Promise<Server> {
  const settings = [
    `listen_addresses=${LOOPBACK}`,
    `port=${port}`,
    // Paths of Unix sockets have a length limit that a deep checkout exceeds.
    "unix_socket_directories=",
    "max_connections=100",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_line_prefix=%m [%p] ",
  ];
  const command = commandAs(cluster.identity, program, [
    "-D",
    cluster.directory,
    ...settings.flatMap((setting) => ["-c", setting]),
  ]);
  const child = spawn(command.program, command.parameters, {
    uid: command.uid,
    gid: command.gid,
    cwd: "/",
    env: { PATH: SYSTEM_PATH },
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (lines.push(line) > 20) lines.shift();
    log(line);
  });
  let isEnded = false;
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  child.once("error", (error) => resolve(error.message));
  child.once("close", (code, signal) => resolve(`it exited with ${signal ?? `code ${code}`}`));
  void ended.then(() => (isEnded = true));
  if (child.pid !== undefined) {
    const endGuard = await guardOrphan(child.pid, STOP_STEPS);
    void ended.then(endGuard);
  }
  return {
    child,
    lines,
    ended,
    hasEnded: () => isEnded,
    async stop() {
      if (!isEnded && child.pid !== undefined) await stopProcess(child.pid, STOP_STEPS);
      await ended;
    },
  };
}

/** @returns why it will not become ready, or undefined once it is. */
async function untilReady(server: Server, clusterDirectory: string): Promise<string | undefined> {
  const deadline = performance.now() + READY_WITHIN_MS;
  while (performance.now() < deadline) {
    if (server.hasEnded()) {
      const fatal = server.lines.filter((line) => /FATAL|could not|in use/.test(line));
      return (fatal.length > 0 ? fatal : server.lines).join(" ") || (await server.ended);
    }
    const status = await readStatus(clusterDirectory);
    if (status?.pid === server.child.pid && READY_STATES.has(status?.state ?? "")) return undefined;
    await sleep(POLL_MS);
  }
  return `it was not ready within ${READY_WITHIN_MS / 1000} seconds`;
}

/** postmaster.pid: process id in the first line, state in the eighth (the same that pg_ctl reads). */
async function readStatus(clusterDirectory: string): Promise<{ pid: number; state: string } | undefined> {
  const text = await readFile(path.join(clusterDirectory, "postmaster.pid"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  return Number.isSafeInteger(pid) && pid > 1 ? { pid, state: (lines[7] ?? "").trim() } : undefined;
}

function handle(server: Server, cluster: Cluster, port: number): Postgres {
  const { pid } = server.child;
  if (pid === undefined) throw new Error("PostgreSQL has no process id.");
  let stopping: Promise<void> | undefined;
  return {
    url: `postgres://${SUPERUSER}:${encodeURIComponent(cluster.password)}@${LOOPBACK}:${port}/postgres`,
    port,
    pid,
    ended: server.ended,
    stop: () => (stopping ??= server.stop()),
  };
}

function isPortTrouble(failure: string): boolean {
  return /TCP\/IP socket|Address already in use|could not bind/.test(failure);
}

function isPassing(failure: string): boolean {
  return isPortTrouble(failure) || failure.includes("still in use");
}

function startFailure(failure: string, dataDirectory: string): string {
  return `PostgreSQL did not start: ${failure.replace(/\.$/, "")}. If its data cannot be repaired, remove ${dataDirectory}: the next start makes a new database, without the accounts, keys and credit of the old one.`;
}

function busy(port: number): string {
  return `Port ${port} is in use, so PostgreSQL cannot listen on it: choose another one, or stop the program that uses it.`;
}
