import { lookup } from "node:dns/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import {
  isPublished,
  publishModels,
  readAppliedClusters,
  type PublishedModel,
  type PublishResult,
} from "../ledger/models/catalogue.ts";
import { createDatabase } from "../ledger/postgres/database.ts";
import { startAdmin } from "../runtime/admin.ts";
import { MONOTONIC } from "../runtime/clock.ts";
import { fingerprintsOf } from "../runtime/credential-fingerprint.ts";
import { mutualTlsCredentials } from "../runtime/grpc-tls.ts";
import type { Lifecycle } from "../runtime/lifecycle.ts";
import { registerLogMetrics } from "../runtime/log-metrics.ts";
import type { CountedLog } from "../runtime/log.ts";
import { startTlsFiles, type TlsFiles } from "../runtime/tls-files.ts";
import { createNames } from "./address/names.ts";
import { createAddressPolicy, type AddressPolicyOptions } from "./address/policy.ts";
import { createOperatorEvents, type OperatorEvents } from "./events.ts";
import { startKubeOperator, type KubeOperatorConfig, type KubeOperatorDeps } from "./kube/kube-operator.ts";
import { startLoop } from "./loop.ts";
import type { TrustedRoots } from "./model/usable-roots.ts";
import { NO_PEERS, type Peers } from "./peers.ts";
import { createProviderKeys, type ProviderKeyConfig, type ProviderKeys } from "./provider-keys/provider-keys.ts";
import { createRollout } from "./rollout.ts";
import { startFolderSource } from "./source/folder.ts";
import type { LocalUpstreams } from "./source/local-upstreams.ts";
import type { Source } from "./source/source.ts";
import { startXdsServer, type XdsListen } from "./xds/serve.ts";
import type { SocketAddress } from "./bootstrap/socket-address.ts";

export interface OperatorConfig {
  databaseUrl: string;
  source: FolderConfig | KubeOperatorConfig;
  /** The discovery service for Envoys, whose configuration contains credentials: a Unix socket, or TCP with mutual TLS. */
  xds:
    | { path: string }
    | (SocketAddress & {
        /** Contains ca.crt, tls.crt and tls.key: Envoys need a certificate from that authority. */
        tlsDirectory: string;
      });
  admin: SocketAddress;
  /** For verifying model servers whose Model names no authority. */
  roots: TrustedRoots;
  /** Allowed locations of backends. */
  backends: AddressPolicyOptions;
  /** The secret that keys are hashed with. Without it extproc cannot recognise a credential that a model server repeats. */
  pepper?: Buffer | undefined;
  /** Accounts' own keys for providers; needs the pepper. None are taken if absent. */
  providerKeys?: ProviderKeyConfig | undefined;
  ackTimeoutMs?: number;
  graceMs?: number;
}

interface FolderConfig {
  kind: "folder";
  /** Folder of YAML manifests. */
  manifests: string;
  localUpstreams: LocalUpstreams;
}

export interface Operator {
  /** The ports in use, if 0 was requested; xds is 0 for a Unix socket. */
  readonly ports: { xds: number; admin: number };
}

/** Starts all parts of the operator and registers how they stop. Resolves when its ports are open. */
export async function startOperator(
  config: OperatorConfig,
  { log, droppedLines, lifecycle }: CountedLog & { lifecycle: Lifecycle },
): Promise<Operator> {
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  registerLogMetrics(metrics, droppedLines);
  const events = createOperatorEvents({ log, metrics });
  const clock = { nowMs: () => Date.now() };
  const database = createDatabase({ url: config.databaseUrl, applicationName: "operator", log });

  const { listen, tls } = await secureDiscovery(config.xds, events);
  let wake: () => void = () => undefined;
  const xds = await startXdsServer(listen, {
    events: {
      ...events,
      envoyConnected(envoy) {
        events.envoyConnected(envoy);
        // It may reject what others have, and it is in the Models' statuses.
        wake();
      },
    },
  });
  const { source, peers, isLeader, registerShutdown } = await startSource(config.source, {
    database,
    log,
    metrics,
    lifecycle,
    events,
    clock,
    onChange: () => wake(),
  });

  async function publish(models: readonly PublishedModel[]): Promise<PublishResult | null> {
    if (isLeader()) return await publishModels(database, models);
    return (await isPublished(database, models)) ? { added: [], changed: [], withdrawn: [], repriced: [] } : null;
  }

  let isServing = false;
  const rollout = createRollout({
    xds: {
      push(snapshot) {
        isServing = true;
        xds.push(snapshot);
      },
      waitForAck: xds.waitForAck,
    },
    peers,
    readApplied: () => readAppliedClusters(database),
    publish,
    events,
    clock,
    roots: config.roots,
    policy: createAddressPolicy(config.backends),
    fingerprintsOf: fingerprinter(config.pepper),
    names: createNames({ lookup: lookupAll, clock: MONOTONIC }),
    maxProviderClusters: config.providerKeys?.maxClusters ?? 0,
    ackTimeoutMs: config.ackTimeoutMs ?? 10_000,
    graceMs: config.graceMs ?? 30_000,
  });
  const providerKeys = providerKeysOf(config, { database, events, isLeader, onChange: () => wake() });
  const loop = startLoop({
    async work() {
      const keys = (await providerKeys?.read()) ?? [];
      const set = source.current();
      const { statuses, version, nextMs, providerKeys: served } = await rollout.run(set, keys);
      if (served !== null) await providerKeys?.report(served);
      await source.reportStatuses({ set, statuses, version });
      events.rolloutSucceeded();
      return nextMs;
    },
    clock,
    onFailure: events.rolloutFailed,
  });
  // Until the source is complete, Envoys with more keep their configuration.
  async function begin(): Promise<void> {
    await source.synced;
    wake = loop.wake;
    wake();
  }
  void begin();
  // An operator that serves Envoys is ready, even while the database is down; on one machine, nothing works before the catalogue.
  const isReady = () => (config.source.kind === "kubernetes" ? isServing : loop.hasSucceeded);

  const admin = await startAdmin({
    host: config.admin.host,
    port: config.admin.port,
    metrics,
    notReadyBecause: () => [
      ...(isReady() ? [] : ["the resources have not been published yet"]),
      ...(lifecycle.isStopping ? ["shutting down"] : []),
    ],
  });
  log.info({ xds: xds.port, admin: admin.port }, "started");

  lifecycle.onShutdown({ name: "stop listening for provider keys", deadlineMs: 2_000, run: () => providerKeys?.stop() });
  lifecycle.onShutdown({ name: "stop the source", deadlineMs: 2_000, run: () => source.stop() });
  lifecycle.onShutdown({ name: "finish the rollout", deadlineMs: 5_000, run: () => loop.stop() });
  registerShutdown();
  lifecycle.onShutdown({ name: "close the discovery port", deadlineMs: 2_000, run: () => xds.stop() });
  lifecycle.onShutdown({ name: "stop looking for certificates", deadlineMs: 1_000, run: () => tls?.stop() });
  lifecycle.onShutdown({ name: "close the database", deadlineMs: 2_000, run: () => database.close() });
  lifecycle.onShutdown({ name: "close the admin port", deadlineMs: 2_000, run: () => admin.close() });
  return { ports: { xds: xds.port, admin: admin.port } };
}

/** Without the secret, keys that accounts entered earlier are still told from none: their requests must not be sent without them. */
function providerKeysOf(
  { pepper, providerKeys }: OperatorConfig,
  deps: Omit<Parameters<typeof createProviderKeys>[0], "config" | "pepper">,
): ProviderKeys | null {
  if (pepper === undefined) return null;
  return createProviderKeys({ ...deps, pepper, config: providerKeys ?? { boxKeys: [], maxClusters: 0 } });
}

function fingerprinter(pepper: Buffer | undefined) {
  return pepper === undefined ? undefined : (credential: string) => fingerprintsOf(credential, pepper);
}

async function secureDiscovery(
  xds: OperatorConfig["xds"],
  events: OperatorEvents,
): Promise<{ listen: XdsListen; tls?: TlsFiles }> {
  if ("path" in xds) return { listen: xds };
  const tls = await startTlsFiles({
    directory: xds.tlsDirectory,
    onFailure: (error) => events.certificatesUnusable({ error }),
    onRenewed: events.certificatesRenewed,
  });
  return { listen: { ...xds, credentials: mutualTlsCredentials(tls) }, tls };
}

/** Resolved as Envoy does: with this machine's hosts file and search domains. */
async function lookupAll(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

interface StartedSource {
  /** `synced`: everything was read once. */
  source: Source & { readonly synced: Promise<void> };
  peers: Peers;
  /** Whether this process publishes. */
  isLeader(): boolean;
  registerShutdown(): void;
}

async function startSource(config: OperatorConfig["source"], deps: KubeOperatorDeps): Promise<StartedSource> {
  if (config.kind === "kubernetes") return await startKubeOperator(config, deps);
  const source = await startFolderSource({ folder: config.manifests, upstreams: config.localUpstreams }, deps);
  return {
    source: { ...source, synced: Promise.resolve() },
    peers: NO_PEERS,
    isLeader: () => true,
    registerShutdown: () => undefined,
  };
}
