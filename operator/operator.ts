import { collectDefaultMetrics, Registry } from "prom-client";
import { publishModels } from "../ledger/catalogue.ts";
import { createDatabase } from "../ledger/database.ts";
import { MAX_REQUEST_BYTES } from "../contract/headers.ts";
import { startAdmin } from "../runtime/admin.ts";
import type { Lifecycle } from "../runtime/lifecycle.ts";
import type { Logger } from "../runtime/log.ts";
import { createOperatorEvents } from "./events.ts";
import { startLoop } from "./loop.ts";
import { createRollout } from "./rollout.ts";
import { startFolderSource } from "./source/folder.ts";
import type { LocalUpstreams } from "./source/local-upstreams.ts";
import { startXdsServer } from "./xds/serve.ts";
import type { SocketAddress } from "./xds/socket-address.ts";

export interface OperatorConfig {
  databaseUrl: string;
  /** Folder of YAML manifests. */
  manifests: string;
  localUpstreams: LocalUpstreams;
  /** Where Envoys ask for their configuration. */
  xds: SocketAddress;
  admin: SocketAddress;
  /** Certificates in PEM that public model servers are checked against. */
  rootsPem: string;
  ackTimeoutMs?: number;
  graceMs?: number;
}

export interface Operator {
  /** The ports in use, for where 0 was asked for. */
  readonly ports: { xds: number; admin: number };
}

/** Starts everything that the operator is made of and registers how it stops. Resolves when its ports are open. */
export async function startOperator(
  config: OperatorConfig,
  { log, lifecycle }: { log: Logger; lifecycle: Lifecycle },
): Promise<Operator> {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  const events = createOperatorEvents({ log, metrics });
  const clock = { nowMs: () => Date.now() };
  const database = createDatabase({ url: config.databaseUrl, applicationName: "operator", log });

  const xds = await startXdsServer(config.xds, { events });
  const rollout = createRollout({
    xds,
    publish: (models) => publishModels(database, models),
    events,
    clock,
    limits: { bufferBytes: MAX_REQUEST_BYTES },
    rootsPem: config.rootsPem,
    ackTimeoutMs: config.ackTimeoutMs ?? 10_000,
    graceMs: config.graceMs ?? 30_000,
  });
  let wake: () => void = () => undefined;
  const source = await startFolderSource(
    { folder: config.manifests, upstreams: config.localUpstreams },
    { events, onChange: () => wake() },
  );
  const loop = startLoop({
    async work() {
      const { statuses, nextMs } = await rollout.run(source.current());
      await source.reportStatuses(statuses);
      return nextMs;
    },
    clock,
    onFailure: events.rolloutFailed,
  });
  wake = loop.wake;
  wake();

  const admin = await startAdmin({
    host: config.admin.host,
    port: config.admin.port,
    metrics,
    notReadyBecause: () => [
      ...(loop.hasSucceeded ? [] : ["the resources have not been published yet"]),
      ...(lifecycle.isStopping ? ["shutting down"] : []),
    ],
  });
  log.info({ xds: xds.port, admin: admin.port }, "started");

  lifecycle.onShutdown({ name: "stop the source", deadlineMs: 2_000, run: () => source.stop() });
  lifecycle.onShutdown({ name: "finish the rollout", deadlineMs: 5_000, run: () => loop.stop() });
  lifecycle.onShutdown({ name: "close the discovery port", deadlineMs: 2_000, run: () => xds.stop() });
  lifecycle.onShutdown({ name: "close the database", deadlineMs: 2_000, run: () => database.close() });
  lifecycle.onShutdown({ name: "close the admin port", deadlineMs: 2_000, run: () => admin.close() });
  return { ports: { xds: xds.port, admin: admin.port } };
}
