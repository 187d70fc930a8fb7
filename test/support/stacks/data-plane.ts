import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import * as z from "zod";
import { MAX_REQUEST_BYTES } from "../../../contract/headers.ts";
import { freePorts } from "../../../local/process/ports.ts";
import { buildBootstrap } from "../../../operator/bootstrap/bootstrap.ts";
import { COMPILE_CACHE } from "../test-run/compile-cache.ts";
import { findPrograms } from "../test-run/programs.ts";
import { changeBootstrap, type BootstrapChange } from "./change-bootstrap.ts";
import { startEnvoyProcess } from "./envoy-process.ts";
import { eventually } from "../eventually.ts";
import { scrape } from "./metrics.ts";
import { expectIdle, type TestProduct } from "./product.ts";

/** One more extproc with its own Envoy on a stack's database and operator: to be killed and restarted at will. */
export interface DataPlane {
  readonly baseUrl: string;
  readonly extprocAdminUrl: string;
  /** Where its Envoy calls it. */
  readonly extprocAddress: string;
  /** Where it keeps its journals. */
  readonly journalDirectory: string;
  /** Does nothing while it runs. @param changes settings that differ this time. */
  startExtproc(changes?: Readonly<Record<string, string>>): Promise<void>;
  /** Stops it, or lets it go on. */
  signalExtproc(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Waits until no request runs and no settlement waits for the database. */
  idle(): Promise<ReadonlyMap<string, number>>;
  /** Errors that its Envoy logged. */
  envoyComplaints(): string[];
  /** What its extproc holds: objects and their buffers, without garbage. For those started with `collectsGarbage`. */
  heldBytes(): Promise<number>;
  /** Envoy's numbers by name, of those whose name has these words. */
  envoyStats(filter: string): Promise<ReadonlyMap<string, number>>;
  /** What its Envoy has allocated at this moment. */
  envoyMemoryMiB(): Promise<number>;
  /** Sends the signal and waits until the process is gone; resolves with its exit code. */
  endExtproc(signal: "SIGKILL" | "SIGTERM"): Promise<number | null>;
  /** The same for Envoy, which does not come back. */
  endEnvoy(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** @returns Envoy's exit code; null where it crashed. */
  stop(): Promise<number | null>;
}

export interface DataPlaneOptions {
  workers?: number;
  /** Changes Envoy's configuration. */
  bootstrapChanges?: readonly BootstrapChange[];
  /** Whether it sends the requests of batches; by default, the stack's own does. */
  sendsBatches?: boolean;
  /** A file that takes extproc's log; nobody takes it by default. */
  stdout?: string;
  /** Whether extproc can be told to collect its garbage. */
  collectsGarbage?: boolean;
}

const COLLECTS_GARBAGE = path.join(import.meta.dirname, "collects-garbage.ts");

/** What it takes part in. */
export type DataPlaneStack = Pick<TestProduct, "databaseUrl" | "xdsSocket"> & {
  directory: Pick<TestProduct["directory"], "pepper">;
};

export async function startDataPlane(
  stack: DataPlaneStack,
  /** Settings of extproc that differ. */
  settings: Readonly<Record<string, string>> = {},
  { workers = 1, sendsBatches = false, stdout, collectsGarbage = false, bootstrapChanges = [] }: DataPlaneOptions = {},
): Promise<DataPlane> {
  const programs = await findPrograms();
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-data-plane-"));
  const [port = 0, envoyAdmin = 0, extprocAdmin = 0, earlyAnswers = 0, batches = 0] = await freePorts(5);
  const extprocPorts = await freePorts(workers);
  const baseUrl = `http://127.0.0.1:${port}`;
  const extprocAdminUrl = `http://127.0.0.1:${extprocAdmin}`;
  const accessLogPath = path.join(directory, "access.log");
  const journalDirectory = path.join(directory, "journal");
  const pepper = (await readFile(stack.directory.pepper, "utf8")).trim();
  let extproc: ChildProcess | undefined;

  const isRunning = (child: ChildProcess | undefined): child is ChildProcess =>
    child?.exitCode === null && child.signalCode === null;

  async function startExtproc(changes: Readonly<Record<string, string>> = {}): Promise<void> {
    if (isRunning(extproc)) return;
    const log = stdout === undefined ? "ignore" : openSync(stdout, "a");
    const flags = collectsGarbage ? ["--import", COLLECTS_GARBAGE] : [];
    extproc = spawn(process.execPath, [...flags, programs("extproc/main.ts")], {
      stdio: ["ignore", log, "inherit"],
      env: {
        ...COMPILE_CACHE,
        PATH: process.env["PATH"],
        DATABASE_URL: stack.databaseUrl,
        KEY_PEPPER: pepper,
        PUBLIC_BASE_URL: baseUrl,
        EXTPROC_LISTEN: extprocPorts.map((each) => `127.0.0.1:${each}`).join(","),
        EARLY_ANSWERS_ADDRESS: `127.0.0.1:${earlyAnswers}`,
        ...(sendsBatches ? { BATCHES_ADDRESS: `127.0.0.1:${batches}` } : {}),
        ADMIN_PORT: String(extprocAdmin),
        DRAIN_SECONDS: "30",
        JOURNAL_DIRECTORY: journalDirectory,
        ...settings,
        ...changes,
      },
    });
    if (log !== "ignore") closeSync(log);
    await eventually(async () => expect((await fetch(`${extprocAdminUrl}/readyz`)).status).toBe(200), { withinMs: 60_000 });
  }

  async function endExtproc(signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    if (!isRunning(extproc)) return null;
    const exited = once(extproc, "exit");
    extproc.kill(signal);
    await exited;
    return extproc.exitCode;
  }

  await startExtproc();
  const bootstrap = buildBootstrap({
    nodeId: "second",
    listen: { host: "127.0.0.1", port },
    admin: { host: "127.0.0.1", port: envoyAdmin },
    extproc: extprocPorts.map((each) => ({ host: "127.0.0.1", port: each })),
    earlyAnswers: { host: "127.0.0.1", port: earlyAnswers },
    batches: { host: "127.0.0.1", port: batches },
    xds: { path: stack.xdsSocket },
    maxRequestBytes: MAX_REQUEST_BYTES,
    accessLogPath,
  });
  const envoy = await startEnvoyProcess({
    bootstrap: changeBootstrap(bootstrap, bootstrapChanges),
    adminPort: envoyAdmin,
    accessLogPath,
  });
  return {
    baseUrl,
    extprocAdminUrl,
    extprocAddress: `127.0.0.1:${extprocPorts[0]}`,
    journalDirectory,
    startExtproc,
    endExtproc,
    endEnvoy: envoy.end,
    signalExtproc: (signal) => void extproc?.kill(signal),
    idle: () => eventually(() => expectIdle(extprocAdminUrl)),
    envoyComplaints: envoy.complaints,
    async heldBytes() {
      // The signal would end it.
      if (!collectsGarbage) throw new Error("Start the data plane with `collectsGarbage`.");
      // Buffers are freed after the collection that finds them, some by the next one.
      let metrics: ReadonlyMap<string, number> = new Map();
      for (let count = 0; count < 2; count++) {
        extproc?.kill("SIGUSR2");
        metrics = await scrape(extprocAdminUrl);
      }
      const bytes = (name: string) => metrics.get(name) ?? Number.POSITIVE_INFINITY;
      return bytes("nodejs_heap_size_used_bytes") + bytes("nodejs_external_memory_bytes");
    },
    async envoyStats(filter) {
      const lines = (await envoy.admin(`/stats?filter=${filter}`)).trim().split("\n");
      return new Map(lines.map((line) => line.split(": ")).map(([name = "", value]) => [name, Number(value)]));
    },
    async envoyMemoryMiB() {
      const { allocated } = z.object({ allocated: z.coerce.number() }).parse(JSON.parse(await envoy.admin("/memory")));
      return allocated / 1024 / 1024;
    },
    async stop() {
      const exitCode = await envoy.stop();
      await endExtproc("SIGTERM");
      await rm(directory, { recursive: true, force: true });
      return exitCode;
    },
  };
}
