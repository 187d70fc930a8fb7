import path from "node:path";
import type { Programs } from "../bundle/programs.ts";
import { GOOGLE_METADATA } from "../operator/address/google.ts";
import { errorCode } from "../runtime/error-code.ts";
import { startRounds } from "../runtime/wait.ts";
import { createDatabase } from "../ledger/postgres/database.ts";
import { migrate } from "../ledger/postgres/migrate.ts";
import { compiledDirectory } from "./cache-directory.ts";
import { openDataDirectory, type DataDirectory } from "./data-directory.ts";
import { prepareDemo, readPepper, readProviderKeysSecret, type Demo } from "./demo.ts";
import { readDestinations, type Destinations } from "./destinations.ts";
import { findEnvoy } from "./envoy.ts";
import { extprocAddresses } from "./extproc-addresses.ts";
import { chooseManifests } from "./manifests-directory.ts";
import { startDiskWatch } from "./process/disk-watch.ts";
import { takeLock } from "./process/lock.ts";
import { openLineLog } from "./process/line-log.ts";
import { rotateLog } from "./process/log-file.ts";
import { startLogRotation } from "./process/log-rotation.ts";
import { listServed, type Served } from "./served.ts";
import { startPart, type Part, type PartContext } from "./process/part.ts";
import { dashboardPart, envoyPart, extprocPart, operatorPart, simulatorPart } from "./parts.ts";
import { checkLoopback, freePort, freePorts, isPortFree, LOOPBACK } from "./process/ports.ts";
import { startPostgres } from "./postgres.ts";
import { identifyCluster } from "./postgres/cluster.ts";
import { chooseSocketDirectory } from "./process/socket-directory.ts";
import { createRegister, stopLeftovers } from "./process/register.ts";
import { supervise, type Launch, type Supervised } from "./process/supervisor.ts";
import { readTraceCollector } from "./trace-collector.ts";
import { pickTrustedProxies } from "./trusted-proxies.ts";
import { mapUpstreams, type UpstreamOptions } from "./upstreams.ts";

export interface StackOptions {
  /** Address for clients; the loopback address if absent. */
  host?: string;
  /** Clients' port; 0 for a free one. */
  port: number;
  dataDirectory: string;
  /** If absent, the one in the data directory. */
  manifestsDirectory?: string | undefined;
  upstreams?: UpstreamOptions;
  /** Processes of extproc. */
  workers?: number;
  /** How long charges are collected before they are written to Postgres; extproc's default if absent. */
  settleEveryMs?: number;
  /** Reads ENVOY_BIN, PATH, HOME, XDG_CACHE_HOME, OTEL_EXPORTER_OTLP_ENDPOINT, TRUSTED_PROXY_HOPS and TRUSTED_PROXY_NETWORKS. */
  environment: Readonly<Record<string, string | undefined>>;
  programs: Programs;
  /** Lines for people during the start. */
  onProgress?: (line: string) => void;
  /** Whether an ended part is restarted; true by default. Otherwise, its first end fails the stack. */
  restartsParts?: boolean;
  /** A warning or an error in a part's log. */
  onComplaint?: (part: string, message: string, detail?: string) => void;
  /** Aborts a start in progress. */
  signal?: AbortSignal;
}

export interface Stack {
  /** Base URL for clients, without `/v1`. */
  readonly baseUrl: string;
  /** Full value of the demo account's key. */
  readonly apiKey: string;
  /** The person who signs in to the dashboard. */
  readonly signIn: Pick<Demo, "email" | "password">;
  /** Whether that account is served. */
  readonly isAccountActive: boolean;
  /** Contains the password: not for logs. */
  readonly databaseUrl: string;
  /** `http://127.0.0.1:…` of the simulated model server. */
  readonly simulatorUrl: string;
  readonly envoyAdminUrl: string;
  readonly extprocAdminUrl: string;
  /** Unix socket of the operator's discovery service, which only this user can reach. */
  readonly xdsSocket: string;
  readonly directory: DataDirectory;
  /** Names of models as the gateway lists them, by interface. */
  readonly served: Served;
  /** Where each Model's requests go. */
  readonly destinations: Destinations;
  /** The folder that is watched. */
  readonly manifestsDirectory: string;
  /** Process ids by name of the part, at this moment. */
  readonly pids: Readonly<Record<string, number>>;
  /** Resolves when a part keeps exiting: with a sentence, and the last lines of its log. */
  readonly failed: Promise<string>;
  /** Drains, then stops every part in order; data stays. */
  stop(): Promise<void>;
  /** Kills every part at once. Postgres recovers at the next start. */
  kill(): void;
}

/**
 * Starts the whole product on this machine: Postgres, a simulated model server, operator, extproc, Envoy.
 * @throws Error with one sentence that explains the remedy; nothing is left running then.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const directory = await openDataDirectory(options.dataDirectory);
  const lock = await takeLock(directory.lock);
  const register = createRegister(directory.processes);
  const logRotation = startLogRotation(directory.logs);
  const diskWatch = startDiskWatch(directory.root, { onNews: options.onProgress ?? (() => {}) });
  const failed = Promise.withResolvers<string>();
  const parts: Supervised[] = [];
  const closers: (() => void | Promise<void>)[] = [];
  let isLost = false;
  let cluster: string | undefined;
  // A recursive removal leaves the directory in which a part has just made a file, but no database.
  const isDirectoryOurs = async () =>
    (cluster === undefined || (await identifyCluster(directory.postgres)) === cluster) && (await lock.keep());
  const lockRounds = startRounds(
    async () => {
      if (isLost || (await isDirectoryOurs())) return;
      isLost = true;
      failed.resolve(directoryLost(directory.root));
      // Its last checkpoint would go into the cluster that has its name by now, and damage it.
      parts.find(({ name }) => name === "postgres")?.kill("SIGQUIT");
    },
    // A disk that cannot be read for a moment is no other directory.
    { everyMs: LOCK_EVERY_MS, onFailure: () => undefined },
  );

  async function stop(): Promise<void> {
    await lockRounds.stop();
    try {
      await stopAll(parts);
      if (await isDirectoryOurs()) await register.clear();
    } finally {
      for (const close of closers) await close();
      await logRotation.stop();
      await diskWatch.stop();
      await lock.release();
    }
  }

  async function startSupervised(name: string, launch: Launch): Promise<void> {
    const part = supervise({
      name,
      launch,
      onNews: options.onProgress ?? (() => {}),
      onGivenUp: failed.resolve,
      ...(options.restartsParts === false ? { pausesMs: [] } : {}),
    });
    parts.push(part);
    await part.start();
  }

  try {
    const started = await bringUp(options, {
      directory,
      register,
      startSupervised,
      onStopped: (close) => void closers.push(close),
      isDirectoryOurs,
      onDatabase: async () => void (cluster = await identifyCluster(directory.postgres)),
    });
    let stopping: Promise<void> | undefined;
    return {
      ...started,
      directory,
      get pids() {
        return Object.fromEntries(parts.map(({ name, pid }) => [name, pid() ?? 0]));
      },
      failed: failed.promise,
      stop: () => (stopping ??= stop()),
      kill() {
        for (const part of parts) part.kill(part.name === "postgres" ? "SIGQUIT" : "SIGKILL");
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const LOCK_EVERY_MS = 1_000;

function directoryLost(root: string): string {
  return `The data directory ${root} was removed or replaced while the gateway used it: stopping. Start again to use what is there now.`;
}

/** The last started first; one that cannot be stopped does not keep the others running. */
async function stopAll(parts: readonly Supervised[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of [...parts].reverse()) await part.stop().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

interface BringUp {
  directory: DataDirectory;
  register: PartContext["register"];
  startSupervised: (name: string, launch: Launch) => Promise<void>;
  /** Called once no part runs. */
  onStopped: (close: () => void | Promise<void>) => void;
  /** False once the data directory or its database was removed, or another start uses the one that has its name. */
  isDirectoryOurs: () => Promise<boolean>;
  /** Called once Postgres runs. */
  onDatabase: () => Promise<void>;
}

async function bringUp(
  options: StackOptions,
  { directory, register, startSupervised, onStopped, onDatabase, isDirectoryOurs }: BringUp,
) {
  const { programs, environment, onProgress = () => {}, onComplaint = () => {}, signal = new AbortController().signal } = options;
  const manifestsDirectory = await chooseManifests(options.manifestsDirectory, directory);
  await stopLeftovers(directory.processes, (name) => onProgress(`Stopping ${name}, left over from an earlier run …`));
  await checkLoopback();
  const host = options.host ?? LOOPBACK;
  const port = await choosePort(options.port, host);
  // With 0.0.0.0, a container's port may be published under any address: the machine's own is usually right.
  const baseUrl = `http://${host === "0.0.0.0" ? LOOPBACK : host}:${port}`;
  const proxies = pickTrustedProxies(environment);
  const google = pickGoogle(environment);
  const binary = await findEnvoy({ environment, onProgress, signal });

  onProgress("Starting Postgres …");
  signal.throwIfAborted();
  const databaseUrl = await startDatabase(directory, { startSupervised, onStopped });
  await onDatabase();
  const pepper = await readPepper(directory.pepper);
  const demo = await prepareDatabase(databaseUrl, { pepper, settings: directory.settings, baseUrl });
  const { apiKey } = demo;

  const context: PartContext = {
    logs: directory.logs,
    register,
    systemEnvironment: pickSystem(environment),
    onComplaint,
    signal,
  };
  const start = (part: Part) =>
    startSupervised(part.name, ({ isRestart, onStarted }) => startPart(part, context, onStarted, { isRestart }));
  const sockets = await chooseSocketDirectory(directory.sockets);
  onStopped(async () => {
    if (sockets.path !== directory.sockets || (await isDirectoryOurs())) await sockets.remove();
  });
  const xdsSocket = path.join(sockets.path, "xds.sock");
  const earlyAnswersSocket = path.join(sockets.path, "early.sock");
  const batchesSocket = path.join(sockets.path, "batches.sock");
  const [simulatorPort = 0, operatorAdmin = 0, extprocAdmin = 0, envoyAdmin = 0, dashboardPort = 0, dashboardAdmin = 0] =
    await freePorts(6);
  const extproc = await extprocAddresses(options.workers ?? 1, sockets.path);
  const traces = readTraceCollector(options.environment["OTEL_EXPORTER_OTLP_ENDPOINT"]);
  const simulatorUrl = `http://${LOOPBACK}:${simulatorPort}`;

  onProgress("Starting the gateway …");
  const upstreams = mapUpstreams(options.upstreams ?? {}, simulatorUrl);
  const operator = {
    programs,
    databaseUrl,
    pepper,
    providerKeysSecret: await readProviderKeysSecret(directory.providerKeys),
    manifestsDirectory,
    upstreams,
    google,
    bounds: pickBounds(environment),
    xdsSocket,
    adminPort: operatorAdmin,
  };
  const dataPlane = {
    programs,
    databaseUrl,
    pepper,
    baseUrl,
    listen: extproc,
    earlyAnswersSocket,
    batchesSocket,
    adminPort: extprocAdmin,
    journalDirectory: directory.journal,
    traces,
    proxies,
    settleEveryMs: options.settleEveryMs,
  };
  const dashboard = { programs, databaseUrl, pepper, baseUrl, port: dashboardPort, adminPort: dashboardAdmin, proxies };
  await allStarted([
    start(simulatorPart({ programs, port: simulatorPort })),
    start(operatorPart(operator)),
    start(extprocPart(dataPlane)),
    start(dashboardPart(dashboard)),
  ]);
  await rotateLog(directory.logs, "access");
  const { envoy: configFile, logs } = directory;
  await start(
    await envoyPart({
      binary,
      configFile,
      logs,
      host,
      port,
      adminPort: envoyAdmin,
      extproc,
      xdsSocket,
      earlyAnswersSocket,
      batchesSocket,
      dashboardPort,
      traces,
      environment: pickIdentity(environment),
    }),
  );
  const served = await listServed({ baseUrl, apiKey, signal });
  return {
    baseUrl,
    apiKey,
    signIn: { email: demo.email, password: demo.password },
    isAccountActive: demo.isActive,
    databaseUrl,
    simulatorUrl,
    envoyAdminUrl: `http://${LOOPBACK}:${envoyAdmin}`,
    extprocAdminUrl: `http://${LOOPBACK}:${extprocAdmin}`,
    xdsSocket,
    served,
    manifestsDirectory,
    destinations: await readDestinations(manifestsDirectory, { upstreams, simulatorUrl }),
  };
}

async function choosePort(wanted: number, host: string): Promise<number> {
  if (wanted === 0) return await freePort();
  const isFree = await isPortFree(wanted, host).catch((error: unknown) => {
    if (errorCode(error) === "EADDRNOTAVAIL")
      throw new Error(`This machine has no address ${host}: choose another one with --host.`, { cause: error });
    if (errorCode(error) === "EACCES")
      throw new Error(`This user may not open port ${wanted}: choose one above 1023 with --port.`, { cause: error });
    throw error;
  });
  if (isFree) return wanted;
  throw new Error(`Port ${wanted} is in use: choose another one with --port, or stop the program that uses it.`);
}

/**
 * Parts that do not need one another start side by side.
 * @throws what the first of them threw, when each has started or failed: only then can all be stopped.
 */
async function allStarted(starts: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(starts)) if (result.status === "rejected") throw result.reason;
}

/** @returns its address, which stays the same after a restart. */
async function startDatabase(
  directory: DataDirectory,
  { startSupervised, onStopped }: Pick<BringUp, "startSupervised" | "onStopped">,
): Promise<string> {
  const logFile = await rotateLog(directory.logs, "postgres");
  const log = openLineLog(logFile);
  onStopped(() => log.end());
  let started: { url: string; port: number } | undefined;
  await startSupervised("postgres", async ({ onStarted }) => {
    const postgres = await startPostgres({
      dataDirectory: directory.postgres,
      ...(started === undefined ? {} : { port: started.port }),
      log: (line) => log.write(`${line}\n`),
    });
    started = postgres;
    onStarted({ name: "postgres", pid: postgres.pid, logFile, ended: postgres.ended, stop: () => postgres.stop() });
  });
  if (started === undefined) throw new Error("Postgres has no address.");
  return started.url;
}

async function prepareDatabase(url: string, demo: { pepper: Buffer; settings: string; baseUrl: string }): Promise<Demo> {
  const database = createDatabase({ url, applicationName: "local" });
  try {
    await migrate(database);
    return await prepareDemo(database, demo);
  } finally {
    await database.close();
  }
}

function pickSystem(environment: StackOptions["environment"]): Record<string, string> {
  const { PATH = "", HOME = "" } = environment;
  // Types are stripped and code compiled once: from the second start on that saves half of the time, and memory.
  return { PATH, HOME, NODE_COMPILE_CACHE: compiledDirectory(environment) };
}

/** The variables in which AWS's SDKs find the identity of this machine. */
function pickIdentity(environment: StackOptions["environment"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      name.startsWith("AWS_") && value !== undefined ? [[name, value] as const] : [],
    ),
  );
}

/** The user writes the Models, and so may use the machine's identity; without one, nothing answers there. */
function pickBounds({ PROVIDER_KEYS_MAX_CLUSTERS }: StackOptions["environment"]): Record<string, string> {
  return PROVIDER_KEYS_MAX_CLUSTERS === undefined ? {} : { PROVIDER_KEYS_MAX_CLUSTERS };
}

function pickGoogle({ GCE_METADATA_HOST, BACKEND_GOOGLE_HOSTS }: StackOptions["environment"]): Record<string, string> {
  return {
    GCE_METADATA_HOST: GCE_METADATA_HOST ?? GOOGLE_METADATA,
    ...(BACKEND_GOOGLE_HOSTS === undefined ? {} : { BACKEND_GOOGLE_HOSTS }),
  };
}
