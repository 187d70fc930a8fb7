import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDatabase, type Database } from "../../../ledger/database.ts";
import { migrate } from "../../../ledger/migrate.ts";
import { openDataDirectory } from "../../../local/data-directory.ts";
import { prepareDemo, readPepper } from "../../../local/demo.ts";
import { findEnvoy } from "../../../local/envoy.ts";
import { dashboardPart, envoyPart, extprocPart, operatorPart } from "../../../local/parts.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { startPart, type Part, type PartContext } from "../../../local/process/part.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { createMember, type Member } from "./member.ts";

/** An Envoy with the extproc beside it: what a gateway pod is in a cluster. */
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
  manifestsDirectory: string;
  /** What stands in for the addresses of the simulated model server. */
  upstreams?: object;
  /** Settings of extproc that differ. */
  extprocSettings?: Readonly<Record<string, string>>;
  /** A warning or an error that a process wrote into its log. */
  onComplaint?: (part: string, message: string) => void;
}

export async function startSupervisedStack(options: SupervisedStackOptions): Promise<SupervisedStack> {
  const root = await mkdtemp(path.join(tmpdir(), "model-gateway-supervised-"));
  const directory = await openDataDirectory(root);
  const binary = await findEnvoy({ environment: process.env, onProgress: (line) => console.log(line) });
  const pepper = await readPepper(directory.pepper);
  const members: Member[] = [];
  const [databasePort = 0, xdsPort = 0, operatorAdmin = 0, dashboardPort = 0, dashboardAdmin = 0] = await freePorts(5);

  function member(part: Part, logs: string): Member {
    const { beforeStop: _, ...rest } = part;
    return createMember(part.name, (onStarted) => startPart(rest, contextFor(logs, options.onComplaint), onStarted));
  }

  async function begun(each: Member): Promise<Member> {
    members.push(each);
    await each.start();
    return each;
  }

  async function stop(): Promise<void> {
    for (const each of members.toReversed()) await each.stop();
    await rm(root, { recursive: true, force: true });
  }

  const databaseUrls: string[] = [];
  const postgres = await begun(
    createMember("postgres", async (onStarted) => {
      const running = await startPostgres({ dataDirectory: directory.postgres, port: databasePort });
      databaseUrls.push(running.url);
      onStarted(running);
    }),
  );
  const databaseUrl = databaseUrls[0] ?? "";
  const database = createDatabase({ url: databaseUrl, applicationName: "test" });
  await migrate(database);
  const publicBaseUrl = `http://${LOOPBACK}`;
  const apiKey = await prepareDemo(database, { pepper, settings: directory.settings, baseUrl: publicBaseUrl });
  const { manifestsDirectory, upstreams = {} } = options;
  const operator = await begun(
    member(operatorPart({ databaseUrl, manifestsDirectory, upstreams, xdsPort, adminPort: operatorAdmin }), directory.logs),
  );

  async function startPlane(index: number): Promise<Plane> {
    const logs = path.join(directory.logs, `plane-${index}`);
    await mkdir(logs, { recursive: true });
    const [port = 0, adminPort = 0, extprocPort = 0, extprocAdmin = 0] = await freePorts(4);
    const baseUrl = `http://${LOOPBACK}:${port}`;
    const journalDirectory = path.join(root, `journal-${index}`);
    const part = extprocPart({
      databaseUrl,
      pepper,
      baseUrl,
      journalDirectory,
      port: extprocPort,
      adminPort: extprocAdmin,
      traces: undefined,
    });
    const extproc = member({ ...part, environment: { ...part.environment, ...options.extprocSettings } }, logs);
    const envoy = member(
      await envoyPart({
        binary,
        logs,
        configFile: path.join(logs, "envoy.yaml"),
        traces: undefined,
        port,
        adminPort,
        extprocPort,
        xdsPort,
        dashboardPort,
      }),
      logs,
    );
    await begun(extproc);
    await begun(envoy);
    const envoyAdminUrl = `http://${LOOPBACK}:${adminPort}`;
    return { baseUrl, envoyAdminUrl, extprocAdminUrl: `http://${LOOPBACK}:${extprocAdmin}`, envoy, extproc };
  }

  const planes: Plane[] = [];
  for (let index = 0; index < options.planes; index++) planes.push(await startPlane(index));
  const dashboard = await begun(
    member(
      dashboardPart({ databaseUrl, pepper, baseUrl: publicBaseUrl, port: dashboardPort, adminPort: dashboardAdmin }),
      directory.logs,
    ),
  );

  return {
    planes,
    postgres,
    operator,
    dashboard,
    database,
    pepper,
    apiKey,
    async stop() {
      await database.close();
      await stop();
    },
  };
}

function contextFor(logs: string, onComplaint: SupervisedStackOptions["onComplaint"] = () => {}): PartContext {
  const { PATH = "", HOME = "" } = process.env;
  return {
    logs,
    register: { add: async () => {}, clear: async () => {} },
    systemEnvironment: { PATH, HOME },
    onComplaint,
    signal: new AbortController().signal,
  };
}
