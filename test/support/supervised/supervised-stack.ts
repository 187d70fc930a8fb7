import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { openDataDirectory } from "../../../local/data-directory.ts";
import { prepareDemo, readPepper, readProviderKeysSecret } from "../../../local/demo.ts";
import { findEnvoy } from "../../../local/envoy.ts";
import { dashboardPart, envoyPart, extprocPart, operatorPart } from "../../../local/parts.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { startPart, type Part, type PartContext } from "../../../local/process/part.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { COMPILE_CACHE } from "../test-run/compile-cache.ts";
import { findPrograms } from "../test-run/programs.ts";
import { createMember, type Member } from "./member.ts";

/** An Envoy and its extproc, like a gateway pod in a cluster. */
export interface Plane {
  readonly baseUrl: string;
  readonly envoyAdminUrl: string;
  readonly extprocAdminUrl: string;
  readonly envoy: Member;
  readonly extproc: Member;
}

/** The whole product, each process of which can be ended and started again. */
export interface SupervisedStack {
  readonly planes: readonly Plane[];
  readonly postgres: Member;
  readonly operator: Member;
  readonly dashboard: Member;
  readonly database: Database;
  readonly pepper: Buffer;
  /** Key of the account `demo`, which has 5 USD. */
  readonly apiKey: string;
  stop(): Promise<void>;
}

export interface SupervisedStackOptions {
  planes: number;
  /** One plane more, the last one: the disk of its extproc's log is full. */
  hasFullLogDisk?: boolean;
  manifestsDirectory: string;
  /** Placeholders for the addresses of the simulated model server. */
  upstreams?: object;
  /** Settings of extproc that differ. */
  extprocSettings?: Readonly<Record<string, string>>;
  /** A warning or an error that a process wrote into its log. */
  onComplaint?: (part: string, message: string) => void;
}

export async function startSupervisedStack(options: SupervisedStackOptions): Promise<SupervisedStack> {
  const root = await mkdtemp(path.join(tmpdir(), "model-gateway-supervised-"));
  const members: Member[] = [];

  /** The last started first. */
  async function stop(): Promise<void> {
    for (const each of members.toReversed()) await each.stop();
    await rm(root, { recursive: true, force: true });
  }

  async function begin(member: Member): Promise<Member> {
    members.push(member);
    await member.start();
    return member;
  }

  try {
    const started = await bringUp(root, begin, options);
    return {
      ...started,
      async stop() {
        await started.database.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Begin = (member: Member) => Promise<Member>;

async function bringUp(root: string, begin: Begin, options: SupervisedStackOptions) {
  const { manifestsDirectory, upstreams = {} } = options;
  const programs = await findPrograms();
  const directory = await openDataDirectory(root);
  const { logs } = directory;
  const pepper = await readPepper(directory.pepper);
  const [databasePort = 0, operatorAdmin = 0, dashboardPort = 0, dashboardAdmin = 0] = await freePorts(4);
  const xdsSocket = path.join(directory.sockets, "xds.sock");
  const member = (part: Part, logs: string) => memberOf(part, contextFor(logs, options.onComplaint));

  let databaseUrl = "";
  const postgres = await begin(
    createMember("postgres", async (onStarted) => {
      const running = await startPostgres({ dataDirectory: directory.postgres, port: databasePort });
      databaseUrl = running.url;
      onStarted(running);
    }),
  );
  const database = createDatabase({ url: databaseUrl, applicationName: "test" });
  await migrate(database);
  const publicBaseUrl = `http://${LOOPBACK}`;
  const { apiKey } = await prepareDemo(database, { pepper, settings: directory.settings, baseUrl: publicBaseUrl });

  const operatorOptions = {
    programs,
    databaseUrl,
    pepper,
    providerKeysSecret: await readProviderKeysSecret(directory.providerKeys),
    manifestsDirectory,
    upstreams,
    bounds: {},
    google: {},
    xdsSocket,
    adminPort: operatorAdmin,
  };
  const operator = await begin(member(operatorPart(operatorOptions), logs));
  const dashboardOptions = {
    programs,
    databaseUrl,
    pepper,
    baseUrl: publicBaseUrl,
    port: dashboardPort,
    adminPort: dashboardAdmin,
    proxies: {},
  };
  const dashboard = await begin(member(dashboardPart(dashboardOptions), logs));

  const binary = await findEnvoy({ environment: process.env, onProgress: (line) => console.log(line) });

  async function startPlane(name: string, { isLogDiskFull = false } = {}): Promise<Plane> {
    const logs = path.join(directory.logs, name);
    await mkdir(logs, { recursive: true });
    const [port = 0, envoyAdmin = 0, extprocPort = 0, extprocAdmin = 0] = await freePorts(4);
    const baseUrl = `http://${LOOPBACK}:${port}`;
    const earlyAnswersSocket = path.join(directory.sockets, `early-${planes.length}.sock`);
    const batchesSocket = path.join(directory.sockets, `batches-${planes.length}.sock`);
    const settings = {
      programs,
      databaseUrl,
      pepper,
      baseUrl,
      batchesSocket,
      listen: [{ host: LOOPBACK, port: extprocPort }],
      adminPort: extprocAdmin,
      traces: undefined,
      proxies: {},
    };
    const part = extprocPart({ ...settings, earlyAnswersSocket, journalDirectory: path.join(root, `journal of ${name}`) });
    const environment = { ...part.environment, ...options.extprocSettings };
    const program = isLogDiskFull ? intoFullDisk(part) : part;
    const extproc = await begin(member({ ...part, ...program, environment }, logs));
    const ports = {
      port,
      adminPort: envoyAdmin,
      extproc: [{ host: LOOPBACK, port: extprocPort }],
      xdsSocket,
      earlyAnswersSocket,
      batchesSocket,
      dashboardPort,
    };
    const configFile = path.join(logs, "envoy.yaml");
    const envoy = await begin(
      member(await envoyPart({ binary, logs, configFile, traces: undefined, environment: {}, ...ports }), logs),
    );
    const [envoyAdminUrl, extprocAdminUrl] = [`http://${LOOPBACK}:${envoyAdmin}`, `http://${LOOPBACK}:${extprocAdmin}`];
    return { baseUrl, envoyAdminUrl, extprocAdminUrl, envoy, extproc };
  }

  const planes: Plane[] = [];
  while (planes.length < options.planes) planes.push(await startPlane(`plane-${planes.length}`));
  if (options.hasFullLogDisk === true) planes.push(await startPlane("plane with a full log disk", { isLogDiskFull: true }));
  return { planes, postgres, operator, dashboard, database, pepper, apiKey };
}

/** Only the test ends or stops it: nothing is drained before, and no watchdog ends it. */
function memberOf(part: Part, context: PartContext): Member {
  return createMember(part.name, (onStarted) =>
    startPart({ ...part, beforeStop: undefined, aliveUrl: undefined }, context, onStarted),
  );
}

/** The same process, whose every log line meets ENOSPC. */
function intoFullDisk({ program, parameters }: Part): Pick<Part, "program" | "parameters"> {
  return { program: "/bin/sh", parameters: ["-c", 'exec "$0" "$@" >/dev/full', program, ...parameters] };
}

function contextFor(logs: string, onComplaint: SupervisedStackOptions["onComplaint"] = () => {}): PartContext {
  const { PATH = "", HOME = "" } = process.env;
  return {
    logs,
    register: { add: async () => {}, clear: async () => {} },
    systemEnvironment: { PATH, HOME, ...COMPILE_CACHE },
    onComplaint,
    signal: new AbortController().signal,
  };
}
