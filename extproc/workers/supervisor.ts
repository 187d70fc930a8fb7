import { Counter, Registry, collectDefaultMetrics } from "prom-client";
import { startAdmin } from "../../runtime/admin.ts";
import type { Lifecycle } from "../../runtime/lifecycle.ts";
import { registerLogMetrics } from "../../runtime/log-metrics.ts";
import type { CountedLog } from "../../runtime/log.ts";
import * as z from "zod";
import { addUp, keepCounts, readMetrics, type Metrics } from "./metrics-page.ts";
import { startWorker, type Worker, type WorkerOptions } from "./worker.ts";
import { startRounds } from "../../runtime/wait.ts";

export interface SupervisorConfig extends Pick<WorkerOptions, "program" | "environment"> {
  workers: number;
  admin: { host: string; port: number };
  /** How long a worker's running streams may take to finish at shutdown. */
  drainMs: number;
}

/** The maximum that a worker needs after its streams have finished (extproc.ts). */
const SETTLE_MS = 28_000;
const LOOK_EVERY_MS = 3_000;
/** A worker that has been silent for this many checks in a row finishes no request either. Envoy sends it nothing meanwhile. */
const MAX_SILENT_LOOKS = 3;

/**
 * Runs extproc as several processes, each a separate replica to the ledger: leases, journal, limits. This process carries no
 * request; it keeps the workers running and represents all of them on one admin port.
 */
export async function startSupervisor(
  config: SupervisorConfig,
  { log, droppedLines, lifecycle }: CountedLog & { lifecycle: Lifecycle },
): Promise<void> {
  const own = new Registry();
  collectDefaultMetrics({ register: own, labels: { worker: "supervisor" } });
  registerLogMetrics(own, droppedLines);
  const restarts = new Counter({
    name: "gateway_worker_exits_total",
    help: "Extproc processes that exited unexpectedly.",
    registers: [own],
  });
  const heard = new Map<Worker, Metrics>();
  const silentLooks = new Map<Worker, number>();
  let ofThoseGone: Metrics = [];

  const workers: readonly Worker[] = Array.from({ length: config.workers }, (_, number) => {
    const worker: Worker = startWorker({
      ...config,
      number,
      log,
      onNews: (news) => {
        for (const other of workers) if (other !== worker) other.notify(news);
      },
      onEnded: () => onEnded(worker),
    });
    return worker;
  });

  function onEnded(worker: Worker): void {
    if (!lifecycle.isStopping) restarts.inc();
    silentLooks.delete(worker);
    const last = heard.get(worker);
    heard.delete(worker);
    if (last === undefined) return;
    counting = counting.then(async () => void (ofThoseGone = await keepCounts([ofThoseGone, last])));
  }
  let counting = Promise.resolve();

  async function hear(worker: Worker): Promise<void> {
    const { pid } = worker;
    const metrics = readMetrics(await worker.ask("metrics"));
    if (worker.pid === pid) heard.set(worker, metrics);
  }

  async function metricsPage(): Promise<string> {
    // A worker that does not answer is reported with its last known state.
    await Promise.allSettled(workers.map(hear));
    await counting;
    const ownMetrics = readMetrics(await own.getMetricsAsJSON());
    return addUp([...heard.values(), ofThoseGone, ownMetrics]).metrics();
  }

  async function notReadyBecause(): Promise<string[]> {
    const reasons = await Promise.all(workers.map(reasonsOf));
    return [...reasons.flat(), ...(lifecycle.isStopping ? ["shutting down"] : [])];
  }

  async function look(worker: Worker): Promise<void> {
    if (worker.pid === null) return;
    try {
      await hear(worker);
      silentLooks.delete(worker);
    } catch {
      const looks = (silentLooks.get(worker) ?? 0) + 1;
      silentLooks.set(worker, looks);
      if (looks < MAX_SILENT_LOOKS) return;
      log.error({ worker: worker.number }, "a worker stopped responding; killing it");
      worker.kill();
    }
  }

  const rounds = startRounds(async () => void (await Promise.all(workers.map(look))), {
    everyMs: LOOK_EVERY_MS,
    onFailure: (error) => log.error({ err: error }, "failed to check the workers"),
  });
  const admin = await startAdmin({
    ...config.admin,
    metrics: { contentType: own.contentType, metrics: metricsPage },
    notReadyBecause,
  });
  log.info({ workers: config.workers, admin: admin.port }, "supervising workers");

  lifecycle.onShutdown({
    name: "stop the workers",
    deadlineMs: config.drainMs + SETTLE_MS + 2_000,
    run: async () => void (await Promise.all(workers.map((worker) => worker.stop(config.drainMs + SETTLE_MS)))),
  });
  lifecycle.onShutdown({
    name: "stop looking after them",
    deadlineMs: 6_000,
    async run() {
      await rounds.stop();
      await admin.close();
    },
  });
}

async function reasonsOf(worker: Worker): Promise<string[]> {
  try {
    const reasons = z.array(z.string()).parse(await worker.ask("readiness"));
    return reasons.map((reason) => `worker ${worker.number}: ${reason}`);
  } catch {
    return [`worker ${worker.number} does not answer`];
  }
}
