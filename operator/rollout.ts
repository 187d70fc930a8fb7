import type { PublishedModel, PublishResult } from "../ledger/models/catalogue.ts";
import type { Names } from "./address/names.ts";
import type { AddressPolicy } from "./address/policy.ts";
import type { OperatorEvents } from "./events.ts";
import type { AppliedClusters } from "./model/backend.ts";
import { namesOf, reconcile, type Plan, type ReconcileInput } from "./model/reconcile.ts";
import type { ServedModel } from "./model/served-model.ts";
import type { ServedProviderKey } from "../ledger/provider-keys/served-keys.ts";
import { toProgrammed, toRejected, type ModelStatus } from "./model/status.ts";
import type { Peers } from "./peers.ts";
import type { OpenedProviderKey } from "./provider-keys/open-keys.ts";
import { planProviderKeys, type ProviderKeyPlan } from "./provider-keys/plan.ts";
import { createRetiredClusters } from "./retired-clusters.ts";
import type { ResourceSet } from "./source/source.ts";
import { rootsVersion } from "./xds/roots-version.ts";
import type { PushOutcome, XdsServer } from "./xds/serve.ts";
import { buildSnapshot, versionOf, type Snapshot } from "./xds/snapshot.ts";

export interface RolloutDeps {
  xds: Pick<XdsServer, "push" | "waitForAck">;
  /** Other replicas have their own Envoys. */
  peers: Peers;
  /** The clusters that the catalogue names. */
  readApplied(): Promise<AppliedClusters>;
  /** Makes the catalogue exactly these models; null if another replica should, and has not yet. */
  publish(models: readonly PublishedModel[]): Promise<PublishResult | null>;
  events: Pick<OperatorEvents, "envoysLate" | "published" | "rootsUnusable">;
  clock: { nowMs(): number };
  /** See ReconcileInput. */
  roots: ReconcileInput["roots"];
  /** Allowed locations of backends. */
  policy: AddressPolicy;
  names: Names;
  /** See ReconcileInput. */
  fingerprintsOf?: ReconcileInput["fingerprintsOf"];
  /** How many clusters all provider keys together may take. */
  maxProviderClusters: number;
  /** How long an Envoy may take to confirm a push. */
  ackTimeoutMs: number;
  /** How long a replaced cluster stays after the catalogue has changed, until extproc's feed has caught up. */
  graceMs: number;
}

interface RolloutResult {
  statuses: ReadonlyMap<string, ModelStatus>;
  /** Of the last configuration sent to Envoy. */
  version: string;
  /** When there is something to do without a change of resources; null for never. */
  nextMs: number | null;
  /** What has become of the provider keys; null if nothing new is in force. */
  providerKeys: readonly ServedProviderKey[] | null;
}

export interface Rollout {
  /** Applies the resources and keys. One call at a time. @throws as `publish`; the catalogue is then unchanged. */
  run(set: ResourceSet, providerKeys: readonly OpenedProviderKey[]): Promise<RolloutResult>;
}

/** The configuration of the Models, with the clusters of provider keys. */
interface WholePlan extends Plan {
  providerKeys: ProviderKeyPlan;
}

/** Another replica reports the clusters that its Envoys rejected: more rounds than this mean that something else is wrong. */
const MAX_PEER_ROUNDS = 8;
/** A deleted provider key stays no longer in Envoy than extproc's feed may need. */
const PROVIDER_KEY_GRACE_MS = 5_000;
/** How soon a replica that does not publish checks again whether the other one has. */
const FOLLOW_MS = 1_000;

/**
 * First Envoy, then the catalogue after its ACK: no request is ever sent to a cluster that Envoy does not know. Clusters that the
 * catalogue no longer uses leave Envoy last.
 */
export function createRollout(deps: RolloutDeps): Rollout {
  const { xds, publish, events, clock } = deps;
  let serving: ReadonlyMap<string, ServedModel> = new Map();
  let rejected: ReadonlyMap<string, string> = new Map();
  let lastGood: Snapshot | null = null;
  const retired = createRetiredClusters({ graceMs: deps.graceMs });
  const retiredKeys = createRetiredClusters({ graceMs: Math.min(deps.graceMs, PROVIDER_KEY_GRACE_MS) });
  let servingKeys: ReadonlyMap<string, ProviderKeyPlan> = new Map();

  async function run(set: ResourceSet, keys: readonly OpenedProviderKey[]): Promise<RolloutResult> {
    const addresses = await deps.names.resolve(namesOf(set, deps.policy));
    const missingHosts = deps.names.missing();
    const applied = hasUnknownSecrets(set) ? await deps.readApplied() : undefined;
    let mayProbe = true;
    for (let round = 1; ; round++) {
      const nowMs = clock.nowMs();
      const before = rejected.size;
      const refused = new Map([...deps.peers.rejected(), ...rejected]);
      const { roots, policy, fingerprintsOf } = deps;
      const models = reconcile({
        set,
        nowMs,
        roots,
        mayProbe,
        policy,
        addresses,
        missingHosts,
        fingerprintsOf,
        rejected: refused,
        serving,
        applied,
      });
      const plan = withProviderKeys(models, { keys, maxClusters: deps.maxProviderClusters, rejected: refused });
      const kept = retired.addTo(plan.snapshot, { serving, nowMs });
      const snapshot = buildSnapshot(retiredKeys.addTo(kept, { serving: servingKeys, nowMs }));
      xds.push(snapshot);
      const outcome = await answerTo(plan, snapshot);
      // Nobody has answered the probe: the next run may ask again.
      if (plan.isProbe && outcome.kind !== "rejected") {
        mayProbe = false;
        continue;
      }
      switch (outcome.kind) {
        case "rejected": {
          const named = namedParts(plan, outcome.message);
          // Envoy cuts its message after a few names: as long as it names others, there is progress.
          if (outcome.isOwn && named.size > 0) rejected = new Map([...rejected, ...named]);
          if (outcome.isOwn ? rejected.size > before : named.size > 0 && round < MAX_PEER_ROUNDS) continue;
          return goBack(plan, outcome);
        }
        case "late":
          events.envoysLate({ nodes: outcome.nodes, waitedMs: deps.ackTimeoutMs });
          return await settle(plan, snapshot, 0);
        case "acked":
          return await settle(plan, snapshot, outcome.envoys);
      }
    }
  }

  /** The result of all Envoys, this replica's own and the others'. */
  async function answerTo(plan: WholePlan, snapshot: Snapshot): Promise<PushOutcome & { isOwn: boolean }> {
    const own = await xds.waitForAck(deps.ackTimeoutMs);
    const version = plannedVersion(plan, snapshot);
    if (own.kind === "rejected") {
      const isWhole = namedParts(plan, own.message).size === 0;
      if (isWhole) deps.peers.report({ version, envoys: 0, late: [], rejected: {}, refusal: own.message });
      return { ...own, isOwn: true };
    }
    const late = own.kind === "late" ? own.nodes : [];
    const envoys = own.kind === "acked" ? own.envoys : 0;
    deps.peers.report({ version, envoys, late, rejected: Object.fromEntries(rejected), refusal: null });
    const parts = partsOf(plan);
    const has = (part: string) => parts.has(part);
    const others = await deps.peers.waitForAck({ version, has, timeoutMs: deps.ackTimeoutMs });
    if (others.kind === "rejected") return { ...others, isOwn: false };
    if (own.kind === "acked" && others.kind === "acked") return { ...own, envoys: envoys + others.envoys, isOwn: true };
    return { kind: "late", nodes: [...late, ...(others.kind === "late" ? others.nodes : [])], isOwn: true };
  }

  /** Envoy has it: from now on extproc may send requests there. */
  async function settle(plan: WholePlan, snapshot: Snapshot, envoys: number): Promise<RolloutResult> {
    events.rootsUnusable(plan.unusableRoots);
    const result = await publish(plan.catalogue);
    const nowMs = clock.nowMs();
    // Clusters still in the catalogue must stay in Envoy.
    if (result === null)
      return { statuses: plan.statuses, version: snapshot.version, nextMs: nowMs + FOLLOW_MS, providerKeys: null };
    if (snapshot.version !== lastGood?.version || hasChanged(result)) {
      events.published({ ...result, version: snapshot.version, models: plan.catalogue.length, envoys });
    }
    lastGood = snapshot;
    retired.retire({ before: serving, after: plan.served, nowMs });
    serving = plan.served;
    const afterKeys = new Map([["provider keys", plan.providerKeys]]);
    retiredKeys.retire({ before: servingKeys, after: afterKeys, nowMs });
    servingKeys = afterKeys;
    // A corrected part has another name, so unused names are forgotten.
    rejected = new Map([...rejected].filter(([part]) => plan.wantedParts.has(part)));
    const message = envoys === 0 ? "in the catalogue, but no Envoy is connected" : "active in all connected Envoys";
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toProgrammed(status, message)]));
    const nextMs = earliest(retired.nextMs(), retiredKeys.nextMs(), plan.nextMs);
    return { statuses, version: snapshot.version, nextMs, providerKeys: plan.providerKeys.keys };
  }

  /** Envoy's message names no part of ours: nothing new is applied, and the previous state stays. */
  function goBack(plan: Plan, { message, isOwn }: { message: string; isOwn: boolean }): RolloutResult {
    // Another replica's Envoys have reverted by themselves.
    if (lastGood !== null && isOwn) xds.push(lastGood);
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toRejected(status, message)]));
    return { statuses, version: lastGood?.version ?? "", nextMs: retired.nextMs(), providerKeys: null };
  }

  return { run };
}

/** Secrets that cannot be read, and whose values this process never had. */
function hasUnknownSecrets({ secrets, unreadableSecrets = new Map() }: ResourceSet): boolean {
  return [...unreadableSecrets.keys()].some((name) => !secrets.has(name));
}

function withProviderKeys(models: Plan, input: Omit<Parameters<typeof planProviderKeys>[0], "offered">): WholePlan {
  const offered = [...models.served.values()].flatMap((model) => model.offered);
  const providerKeys = planProviderKeys({ ...input, offered });
  const { clusters, secrets } = models.snapshot;
  return {
    ...models,
    snapshot: {
      clusters: new Map([...clusters, ...providerKeys.clusters]),
      secrets: new Map([...secrets, ...providerKeys.secrets]),
    },
    wantedParts: new Set([...models.wantedParts, ...providerKeys.wanted]),
    providerKeys,
  };
}

/** Version of the Models' configuration: without clusters that this replica keeps for a while, which the others may not have. */
function plannedVersion({ snapshot: { clusters, secrets } }: Plan, snapshot: Snapshot): string {
  const planned = [...snapshot.clusters].filter(([name]) => clusters.has(name));
  const used = [...snapshot.secrets, ...snapshot.filters].filter(([name]) => secrets.has(name));
  return versionOf([...planned, ...used].map(([, resource]) => resource));
}

function earliest(...times: readonly (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** What Envoy can reject by itself, with the name that it has in Envoy's message. */
function partsOf({ snapshot: { clusters, secrets } }: Plan): ReadonlyMap<string, string> {
  const roots = [...secrets].flatMap(([name, content]) =>
    content.kind === "roots" ? [[rootsVersion(name, content), name] as const] : [],
  );
  return new Map([...[...clusters.keys()].map((name) => [name, name] as const), ...roots]);
}

/** The parts that a NACK names, each with Envoy's message about it. */
function namedParts(plan: Plan, message: string): ReadonlyMap<string, string> {
  const named = [...partsOf(plan)].flatMap(([part, name]) => {
    const start = startOf(name, message);
    return start === -1 ? [] : [{ part, start }];
  });
  const starts = named.map(({ start }) => start);
  return new Map(named.map(({ part, start }) => [part, wordsFrom(start, message, starts)]));
}

/** Where the complaint about it begins; -1 for none. A name within another one, or within what Envoy quotes, is none. */
function startOf(name: string, message: string): number {
  for (let at = message.indexOf(name); at !== -1; at = message.indexOf(name, at + 1)) {
    const isWhole = (at === 0 || /\s/.test(message[at - 1] ?? "")) && message[at + name.length] === ":";
    if (isWhole) return at;
  }
  return -1;
}

/** Envoy joins its complaints into one text: the part from this name to the next. */
function wordsFrom(start: number, message: string, starts: readonly number[]): string {
  const end = Math.min(message.length, ...starts.filter((other) => other > start));
  return message.slice(start, end).replace(/[,\s]+$/, "");
}

function hasChanged({ added, changed, withdrawn, repriced }: PublishResult): boolean {
  return added.length + changed.length + withdrawn.length + repriced.length > 0;
}
