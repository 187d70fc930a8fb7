import process from "node:process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import type { Program, Programs } from "../bundle/programs.ts";
import { MAX_REQUEST_BYTES } from "../contract/headers.ts";
import { buildBootstrap } from "../operator/bootstrap/bootstrap.ts";
import type { ExtprocAddress } from "../operator/bootstrap/extproc-cluster.ts";
import type { TraceCollector } from "../operator/bootstrap/filters/tracing.ts";
import { drainEnvoy } from "../runtime/envoy-drain.ts";
import { addressText } from "./extproc-addresses.ts";
import type { Part } from "./process/part.ts";
import { connectionsWithin, descriptorLimit } from "./process/descriptors.ts";
import { heapWithin, memoryLimit } from "./process/memory.ts";
import { LOOPBACK } from "./process/ports.ts";
import type { StopStep } from "./process/processes.ts";

/** Running requests get this long to finish when the stack stops. */
const DRAIN_MS = 10_000;

/**
 * The same as in the chart. A small young generation (docs/scaling.md), in which every object begins
 * (docs/decisions/0023), collected by one thread (docs/performance.md).
 */
export const EXTPROC_FLAGS = ["--max-semi-space-size=16", "--single-threaded-gc", "--no-allocation-site-pretenuring"];

/**
 * For programs that serve a few requests at a time. V8 lets their young generation grow to 64 MiB while they load, and does
 * not shrink it (docs/performance.md).
 */
const QUIET_FLAGS = ["--max-semi-space-size=1"];

function stopWithin(waitMs: number): readonly StopStep[] {
  return [
    { signal: "SIGTERM", waitMs },
    { signal: "SIGKILL", waitMs: 5_000 },
  ];
}

/** A part that is a program of this repository. */
function nodePart(
  part: Pick<Part, "name" | "environment" | "readyUrl" | "aliveUrl" | "stopSteps"> & {
    entry: Program;
    programs: Programs;
    flags?: readonly string[];
  },
): Part {
  const { entry, programs, flags = QUIET_FLAGS, ...rest } = part;
  const parameters = [...flags, programs(entry)];
  return { ...rest, program: process.execPath, parameters, hasChannel: true };
}

export function simulatorPart({ programs, port }: { programs: Programs; port: number }): Part {
  return nodePart({
    name: "simulator",
    entry: "local/simulator/main.ts",
    programs,
    environment: { SIMULATOR_PORT: String(port) },
    readyUrl: `http://${LOOPBACK}:${port}/simulator/requests`,
    stopSteps: stopWithin(5_000),
  });
}

export function operatorPart(options: {
  programs: Programs;
  databaseUrl: string;
  manifestsDirectory: string;
  pepper: Buffer;
  providerKeysSecret: string;
  /** Unix socket on which Envoy requests its configuration. */
  xdsSocket: string;
  adminPort: number;
  upstreams: object;
  /** Variables that bound what Envoy gets. */
  bounds: Readonly<Record<string, string>>;
  /** Variables about this machine's identity at Google. */
  google: Readonly<Record<string, string>>;
}): Part {
  return nodePart({
    name: "operator",
    entry: "operator/main.ts",
    programs: options.programs,
    environment: {
      DATABASE_URL: options.databaseUrl,
      GATEWAY_MANIFESTS: options.manifestsDirectory,
      KEY_PEPPER: options.pepper.toString("base64"),
      PROVIDER_KEYS_SECRET: options.providerKeysSecret,
      ...options.bounds,
      GATEWAY_LOCAL_UPSTREAMS: JSON.stringify(options.upstreams),
      // The user writes the Models; the simulator is on the loopback.
      BACKEND_ALLOW_PRIVATE: "true",
      BACKEND_ALLOW_CIDRS: "127.0.0.0/8,::1/128",
      ...options.google,
      XDS_SOCKET: options.xdsSocket,
      ADMIN_PORT: String(options.adminPort),
      LOG_LEVEL: "info",
    },
    readyUrl: `http://${LOOPBACK}:${options.adminPort}/readyz`,
    aliveUrl: `http://${LOOPBACK}:${options.adminPort}/healthz`,
    stopSteps: stopWithin(15_000),
  });
}

export function extprocPart(options: {
  programs: Programs;
  databaseUrl: string;
  pepper: Buffer;
  baseUrl: string;
  /** One worker for each. */
  listen: readonly ExtprocAddress[];
  /** Unix socket on which Envoy accepts streams that extproc may answer early. */
  earlyAnswersSocket: string;
  /** The same for the requests of batches. */
  batchesSocket: string;
  adminPort: number;
  journalDirectory: string;
  traces: TraceCollector | undefined;
  /** Variables that name the proxies in front of Envoy. */
  proxies: Readonly<Record<string, string>>;
  settleEveryMs?: number | undefined;
}): Part {
  return nodePart({
    name: "extproc",
    entry: "extproc/main.ts",
    programs: options.programs,
    flags: EXTPROC_FLAGS,
    environment: {
      DATABASE_URL: options.databaseUrl,
      KEY_PEPPER: options.pepper.toString("base64"),
      PUBLIC_BASE_URL: options.baseUrl,
      EXTPROC_LISTEN: options.listen.map(addressText).join(","),
      EARLY_ANSWERS_ADDRESS: `unix:${options.earlyAnswersSocket}`,
      BATCHES_ADDRESS: `unix:${options.batchesSocket}`,
      ADMIN_PORT: String(options.adminPort),
      JOURNAL_DIRECTORY: options.journalDirectory,
      ...options.proxies,
      ...(options.traces === undefined
        ? {}
        : { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${options.traces.host}:${options.traces.port}` }),
      ...(options.settleEveryMs === undefined ? {} : { SETTLE_EVERY_MS: String(options.settleEveryMs) }),
      // Envoy has drained before this process is stopped.
      DRAIN_SECONDS: "2",
      LOG_LEVEL: "info",
    },
    readyUrl: `http://${LOOPBACK}:${options.adminPort}/readyz`,
    aliveUrl: `http://${LOOPBACK}:${options.adminPort}/healthz`,
    // Finally, it settles recorded usage.
    stopSteps: stopWithin(30_000),
  });
}

export function dashboardPart(options: {
  programs: Programs;
  databaseUrl: string;
  pepper: Buffer;
  baseUrl: string;
  port: number;
  adminPort: number;
  /** As for extproc. */
  proxies: Readonly<Record<string, string>>;
}): Part {
  return nodePart({
    name: "dashboard",
    entry: "dashboard/main.ts",
    programs: options.programs,
    environment: {
      DATABASE_URL: options.databaseUrl,
      KEY_PEPPER: options.pepper.toString("base64"),
      PUBLIC_BASE_URL: options.baseUrl,
      DASHBOARD_PORT: String(options.port),
      ADMIN_PORT: String(options.adminPort),
      PAYMENTS: "test",
      MAIL: "outbox",
      // The user has access to the files, too.
      ADMIN_SECOND_FACTOR: "optional",
      WEBHOOK_NETWORKS: "any",
      ...options.proxies,
      LOG_LEVEL: "info",
    },
    readyUrl: `http://${LOOPBACK}:${options.adminPort}/readyz`,
    aliveUrl: `http://${LOOPBACK}:${options.adminPort}/healthz`,
    stopSteps: stopWithin(15_000),
  });
}

/** @param options.configFile where Envoy's bootstrap is written. */
export async function envoyPart(options: {
  binary: string;
  configFile: string;
  logs: string;
  /** Address for clients; the loopback address if absent. */
  host?: string;
  port: number;
  adminPort: number;
  extproc: readonly ExtprocAddress[];
  xdsSocket: string;
  earlyAnswersSocket: string;
  batchesSocket: string;
  dashboardPort: number;
  traces: TraceCollector | undefined;
  /** Where it finds the identity of this machine at cloud providers. */
  environment: Readonly<Record<string, string>>;
}): Promise<Part> {
  const bootstrap = buildBootstrap({
    nodeId: "local",
    listen: { host: options.host ?? LOOPBACK, port: options.port },
    admin: { host: LOOPBACK, port: options.adminPort },
    extproc: options.extproc,
    xds: { path: options.xdsSocket },
    earlyAnswers: { path: options.earlyAnswersSocket },
    batches: { path: options.batchesSocket },
    dashboard: { host: LOOPBACK, port: options.dashboardPort },
    maxRequestBytes: MAX_REQUEST_BYTES,
    maxConnections: connectionsWithin(descriptorLimit()),
    maxHeapBytes: heapWithin(memoryLimit()),
    accessLogPath: path.join(options.logs, "access.log"),
    ...(options.traces === undefined ? {} : { traces: options.traces }),
  });
  await writeFile(options.configFile, stringify(bootstrap));
  const adminUrl = `http://${LOOPBACK}:${options.adminPort}`;
  return {
    name: "envoy",
    program: options.binary,
    parameters: [
      ["-c", options.configFile],
      // Several stacks may run on one machine.
      ["--disable-hot-restart"],
      // There is one extproc: a second thread of Envoy would spread its messages over another connection.
      ["--concurrency", "1"],
      ["--log-level", "warning"],
      // It would log the answers of servers that issue tokens, which may repeat the client's secret.
      ["--component-log-level", "credential_injector:off"],
      // Ten seconds by default: readers of the access log wait for its lines, and a killed Envoy loses them.
      ["--file-flush-interval-msec", "1000"],
      ["--drain-strategy", "immediate"],
      ["--drain-time-s", String(DRAIN_MS / 1000)],
    ].flat(),
    environment: { ...options.environment },
    hasChannel: false,
    readyUrl: `${adminUrl}/ready`,
    aliveUrl: `${adminUrl}/ready`,
    stopSteps: stopWithin(10_000),
    beforeStop: async () => void (await drainEnvoy(adminUrl, { maxMs: DRAIN_MS })),
  };
}
