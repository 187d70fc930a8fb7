import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Registry } from "prom-client";
import type { Database } from "../../ledger/postgres/database.ts";
import { MONOTONIC } from "../../runtime/clock.ts";
import type { Lifecycle } from "../../runtime/lifecycle.ts";
import type { Logger } from "../../runtime/log.ts";
import { startApiKeyController, type ApiKeyController, type ApiKeyTimes } from "../apikey/controller.ts";
import { startUnwatchedApiKeys, type UnwatchedApiKeys } from "../apikey/unwatched.ts";
import { GROUP, VERSION } from "../crd/group.ts";
import type { OperatorEvents } from "../events.ts";
import type { InternalTlsConfig } from "../internal-tls/config.ts";
import { createKubeClient } from "./client.ts";
import { loadFromPod } from "./credentials.ts";
import { startElector } from "./elector.ts";
import { createKubeEvents } from "./events.ts";
import { startLedgerPeers } from "./ledger-peers.ts";
import { startReflectors, type Namespaces } from "./namespaces.ts";
import { keyOf } from "./object.ts";
import { createOwnership } from "./ownership.ts";
import { createRecorder } from "./recorder.ts";
import type { Peers } from "../peers.ts";
import { startKubeSource } from "../source/kube/kube-source.ts";
import type { Source } from "../source/source.ts";

export interface KubeOperatorConfig {
  kind: "kubernetes";
  namespaces: Namespaces;
  pod: { namespace: string; name: string };
  leaseName: string;
  /** Precedes /var/run/secrets/kubernetes.io/serviceaccount; empty in a Pod. */
  pathPrefix: string;
  /** Key of the hash under which secrets are stored. */
  pepper: Buffer;
  apiKeyTimes?: Partial<ApiKeyTimes>;
  /** Absent if somebody else issues the certificates. */
  internalTls?: InternalTlsConfig | undefined;
}

export interface KubeOperatorDeps {
  database: Database;
  log: Logger;
  metrics: Registry;
  lifecycle: Lifecycle;
  events: OperatorEvents;
  clock: { nowMs(): number };
  /** The desired state may have changed, or the process that applies it. */
  onChange(): void;
}

/** The operator's Kubernetes side. */
export interface KubeOperator {
  source: Source & { readonly synced: Promise<void> };
  peers: Peers;
  isLeader(): boolean;
  /** Adds its shutdown phases. To be called when no later part of the operator writes. */
  registerShutdown(): void;
}

/**
 * Models and ApiKeys from the Kubernetes API. Every replica reads them and serves Envoys; only the holder of the Lease writes, to
 * Kubernetes and to the ledger.
 */
export async function startKubeOperator(config: KubeOperatorConfig, deps: KubeOperatorDeps): Promise<KubeOperator> {
  const { database, lifecycle, clock, onChange } = deps;
  const { namespaces, pod } = config;
  const events = { ...deps.events, ...createKubeEvents(deps) };
  const identity = `${pod.name === "" ? hostname() : pod.name}_${randomUUID()}`;
  const client = createKubeClient({ access: await loadFromPod(config.pathPrefix), events });
  const recorder = createRecorder({ client, apiVersion: `${GROUP}/${VERSION}`, instance: identity, clock, events });

  let controller: ApiKeyController | null = null;
  let unwatched: UnwatchedApiKeys | null = null;
  let ending: Promise<void> = Promise.resolve();
  const apiKeys = startReflectors(namespaces, {
    client,
    kind: "apikeys",
    events,
    onChange: (key) => controller?.changed(key),
  });
  const elector = startElector({
    client,
    lease: { namespace: pod.namespace, name: config.leaseName },
    identity,
    clock,
    events,
    onElected() {
      onChange();
      ending = ending.then(() => apiKeys.synced).then(lead);
    },
    onLost() {
      const stopped = { controller, unwatched };
      [controller, unwatched] = [null, null];
      ending = ending.then(() => stopApiKeys(stopped));
    },
  });
  const { isLeader } = elector;
  const lease = { namespace: pod.namespace, name: config.leaseName };
  const ownership = createOwnership({ client, lease, leaseUid: elector.leaseUid, clock, steady: MONOTONIC });

  function lead(): void {
    const origin = elector.leaseUid();
    if (!isLeader() || controller !== null || origin === null || lifecycle.isStopping) return;
    controller = startApiKeyController({
      client,
      database,
      pepper: config.pepper,
      origin,
      isLeader,
      isWatched: (namespace) => namespaces?.includes(namespace) ?? true,
      find: (key) => apiKeys.get(key),
      *keys() {
        for (const object of apiKeys.values()) yield keyOf(object);
      },
      recorder,
      ownership,
      clock,
      events,
      times: config.apiKeyTimes,
    });
    if (namespaces !== null) unwatched = startUnwatchedApiKeys({ client, database, namespaces, isLeader, ownership, events });
  }

  const source = startKubeSource({
    client,
    namespaces,
    isLeader,
    recorder,
    ownership,
    clock,
    steady: MONOTONIC,
    events,
    onChange,
  });
  const renewer = await startRenewer();
  const peers = startLedgerPeers({ database, replica: identity, isLeader, onChange, events });

  async function startRenewer() {
    if (config.internalTls === undefined) return undefined;
    // Imported only if needed: on one machine nobody issues certificates.
    const { startCertificateRenewer } = await import("../internal-tls/renewer.ts");
    return startCertificateRenewer(config.internalTls, { client, namespace: pod.namespace, isLeader, clock, events });
  }

  function registerShutdown(): void {
    lifecycle.onShutdown({ name: "stop renewing certificates", deadlineMs: 2_000, run: () => renewer?.stop() });
    lifecycle.onShutdown({ name: "stop the ApiKeys", deadlineMs: 5_000, run: () => stopApiKeys({ controller, unwatched }) });
    lifecycle.onShutdown({ name: "leave the other replicas", deadlineMs: 2_000, run: () => peers.stop() });
    lifecycle.onShutdown({ name: "write the last Events", deadlineMs: 2_000, run: () => recorder.stop() });
    // After everything that writes: the next leader must not overlap with this one.
    lifecycle.onShutdown({ name: "release the Lease", deadlineMs: 3_000, run: () => elector.release() });
    lifecycle.onShutdown({ name: "stop the watches", deadlineMs: 2_000, run: () => apiKeys.stop() });
    lifecycle.onShutdown({ name: "leave the Kubernetes API", deadlineMs: 1_000, run: () => client.close() });
  }

  return { source, peers, isLeader, registerShutdown };
}

async function stopApiKeys(parts: { controller: ApiKeyController | null; unwatched: UnwatchedApiKeys | null }): Promise<void> {
  await Promise.all([parts.controller?.stop(), parts.unwatched?.stop()]);
}
