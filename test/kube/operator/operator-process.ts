import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { COMPILE_CACHE } from "../../support/test-run/compile-cache.ts";
import { findPrograms } from "../../support/test-run/programs.ts";
import type { KubeApi } from "../../support/kube/api.ts";
import { freePort } from "../../../local/process/ports.ts";
import { OPERATOR, TEAM } from "./install.ts";

/** One replica of the operator, as a Pod would run it. */
export interface OperatorProcess {
  readonly name: string;
  /** Unix socket on which Envoys ask for their configuration. */
  readonly xdsSocket: string;
  readonly adminUrl: string;
  readonly pid: number;
  /** All that it logged. */
  log(): string;
  isReady(): Promise<boolean>;
  /** The value of a sample with these labels, as Prometheus writes it: `name{a="b"}`; 0 where there is none. */
  metric(sample: string): Promise<number>;
  isLeader(): Promise<boolean>;
  end(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
}

export interface OperatorProcessOptions {
  api: KubeApi;
  name: string;
  databaseUrl: string;
  pepper: Buffer;
  /** Namespaces that it watches. */
  watch?: readonly string[];
  /** Of its release; the chart's where not given. */
  leaseName?: string;
  /** Takes the sockets, each in a directory of its own. */
  directory: string;
  /** A free one where not given. */
  adminPort?: number;
  /** More variables of its environment. */
  more?: Record<string, string>;
}

export async function startOperatorProcess({
  api,
  name,
  databaseUrl,
  pepper,
  watch = [TEAM],
  leaseName = OPERATOR.name,
  directory,
  adminPort,
  more = {},
}: OperatorProcessOptions): Promise<OperatorProcess> {
  const programs = await findPrograms();
  const { pathPrefix, environment } = await api.mountFor(OPERATOR);
  const admin = adminPort ?? (await freePort());
  const xdsSocket = path.join(directory, name, "xds.sock");
  const child = spawn(process.execPath, [programs("operator/main.ts")], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      ...environment,
      ...COMPILE_CACHE,
      PATH: process.env["PATH"],
      // As the chart sets it, where 60 % of a Pod's 512 MiB are the heap's.
      NODE_OPTIONS: "--max-old-space-size=307 --max-semi-space-size=8",
      MALLOC_ARENA_MAX: "2",
      DATABASE_URL: databaseUrl,
      GATEWAY_SOURCE: "kubernetes",
      WATCH_NAMESPACES: watch.join(","),
      POD_NAME: name,
      POD_NAMESPACE: OPERATOR.namespace,
      LEASE_NAME: leaseName,
      KEY_PEPPER: pepper.toString("base64"),
      KUBE_PATH_PREFIX: pathPrefix,
      // The simulated model server is there.
      BACKEND_ALLOW_CIDRS: "127.0.0.0/8",
      XDS_SOCKET: xdsSocket,
      ADMIN_PORT: String(admin),
      ...more,
    },
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      log += text;
    });
  const adminUrl = `http://127.0.0.1:${admin}`;

  async function metric(sample: string): Promise<number> {
    const text = await (await fetch(`${adminUrl}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(`${sample} `));
    return line === undefined ? 0 : Number(line.slice(sample.length + 1));
  }

  return {
    name,
    xdsSocket,
    adminUrl,
    pid: child.pid ?? 0,
    log: () => log,
    isReady: async () => {
      const response = await fetch(`${adminUrl}/readyz`).catch(() => undefined);
      return response?.status === 200;
    },
    metric,
    isLeader: async () => (await metric('leader_election_master_status{name="operator"}').catch(() => 0)) === 1,
    end: (signal) => end(child, signal),
  };
}

async function end(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
  return child.exitCode;
}
