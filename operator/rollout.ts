import type { PublishedModel, PublishResult } from "../ledger/models/catalogue.ts";
import type { Names } from "./address/names.ts";
import type { AddressPolicy } from "./address/policy.ts";
import type { OperatorEvents } from "./events.ts";
import { namesOf, reconcile, type Plan, type ReconcileInput } from "./model/reconcile.ts";
import type { ServedModel } from "./model/served-model.ts";
import { toProgrammed, toRejected, type ModelStatus } from "./model/status.ts";
import type { Peers } from "./peers.ts";
import { createRetiredClusters } from "./retired-clusters.ts";
import type { ResourceSet } from "./source/source.ts";
import type { PushOutcome, XdsServer } from "./xds/serve.ts";
import { buildSnapshot, versionOf, type Snapshot } from "./xds/snapshot.ts";

export interface RolloutDeps {
  xds: Pick<XdsServer, "push" | "waitForAck">;
  /** Other replicas have their own Envoys. */
  peers: Peers;
  /** Makes the catalogue exactly these models; null if another replica should, and has not yet. */
  publish(models: readonly PublishedModel[]): Promise<PublishResult | null>;
  events: Pick<OperatorEvents, "envoysLate" | "published">;
  clock: { nowMs(): number };
  /** See ReconcileInput. */
  rootsPem: string;
  /** Allowed locations of backends. */
  policy: AddressPolicy;
  names: Names;
  /** See ReconcileInput. */
  fingerprintsOf?: ReconcileInput["fingerprintsOf"];
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
}

export interface Rollout {
  /** Applies the resources. One call at a time. @throws as `publish`; the catalogue is then unchanged. */
  run(set: ResourceSet): Promise<RolloutResult>;
}

/** A rejected cluster excludes its Model; more rounds than this mean that something else is wrong. */
const MAX_ROUNDS = 8;
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

  async function run(set: ResourceSet): Promise<RolloutResult> {
    const addresses = await deps.names.resolve(namesOf(set, deps.policy));
    const missingHosts = deps.names.missing();
    for (let round = 1; ; round++) {
      const nowMs = clock.nowMs();
      const refused = new Map([...deps.peers.rejected(), ...rejected]);
      const { rootsPem, policy, fingerprintsOf } = deps;
      const plan = reconcile({
        set,
        nowMs,
        rootsPem,
        policy,
        addresses,
        missingHosts,
        fingerprintsOf,
        rejected: refused,
        serving,
      });
      const snapshot = buildSnapshot(retired.addTo(plan.snapshot, { serving, nowMs }));
      xds.push(snapshot);
      const outcome = await answerTo(plan, snapshot);
      switch (outcome.kind) {
        case "rejected": {
          const named = namedClusters(plan, outcome.message);
          if (named.size > 0 && round < MAX_ROUNDS) {
            if (outcome.isOwn) rejected = new Map([...rejected, ...named]);
            continue;
          }
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
  async function answerTo(plan: Plan, snapshot: Snapshot): Promise<PushOutcome & { isOwn: boolean }> {
    const own = await xds.waitForAck(deps.ackTimeoutMs);
    const version = plannedVersion(plan, snapshot);
    if (own.kind === "rejected") {
      const isWhole = namedClusters(plan, own.message).size === 0;
      if (isWhole) deps.peers.report({ version, envoys: 0, late: [], rejected: {}, refusal: own.message });
      return { ...own, isOwn: true };
    }
    const late = own.kind === "late" ? own.nodes : [];
    const envoys = own.kind === "acked" ? own.envoys : 0;
    deps.peers.report({ version, envoys, late, rejected: Object.fromEntries(rejected), refusal: null });
    const has = (cluster: string) => plan.snapshot.clusters.has(cluster);
    const others = await deps.peers.waitForAck({ version, has, timeoutMs: deps.ackTimeoutMs });
    if (others.kind === "rejected") return { ...others, isOwn: false };
    if (own.kind === "acked" && others.kind === "acked") return { ...own, envoys: envoys + others.envoys, isOwn: true };
    return { kind: "late", nodes: [...late, ...(others.kind === "late" ? others.nodes : [])], isOwn: true };
  }

  /** Envoy has it: from now on extproc may send requests there. */
  async function settle(plan: Plan, snapshot: Snapshot, envoys: number): Promise<RolloutResult> {
    const result = await publish(plan.catalogue);
    const nowMs = clock.nowMs();
    // Clusters still in the catalogue must stay in Envoy.
    if (result === null) return { statuses: plan.statuses, version: snapshot.version, nextMs: nowMs + FOLLOW_MS };
    if (snapshot.version !== lastGood?.version || hasChanged(result)) {
      events.published({ ...result, version: snapshot.version, models: plan.catalogue.length, envoys });
    }
    lastGood = snapshot;
    retired.retire({ before: serving, after: plan.served, nowMs });
    serving = plan.served;
    // A corrected cluster has another name, so unused names are forgotten.
    rejected = new Map([...rejected].filter(([cluster]) => plan.wantedClusters.has(cluster)));
    const message = envoys === 0 ? "in the catalogue, but no Envoy is connected" : "active in all connected Envoys";
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toProgrammed(status, message)]));
    return { statuses, version: snapshot.version, nextMs: earliest(retired.nextMs(), plan.nextMs) };
  }

  /** Envoy's message names no cluster of ours: nothing new is applied, and the previous state stays. */
  function goBack(plan: Plan, { message, isOwn }: { message: string; isOwn: boolean }): RolloutResult {
    // Another replica's Envoys have reverted by themselves.
    if (lastGood !== null && isOwn) xds.push(lastGood);
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toRejected(status, message)]));
    return { statuses, version: lastGood?.version ?? "", nextMs: retired.nextMs() };
  }

  return { run };
}

/** Version of the Models' configuration: without clusters that this replica keeps for a while, which the others may not have. */
function plannedVersion({ snapshot: { clusters, secrets } }: Plan, snapshot: Snapshot): string {
  const planned = [...snapshot.clusters].filter(([name]) => clusters.has(name));
  const used = [...snapshot.secrets].filter(([name]) => secrets.has(name));
  return versionOf([...planned, ...used].map(([, resource]) => resource));
}

function earliest(...times: readonly (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** The clusters that a NACK names, each with Envoy's message about it. */
function namedClusters(plan: Plan, message: string): ReadonlyMap<string, string> {
  const named = [...plan.snapshot.clusters.keys()].filter((name) => message.includes(name));
  return new Map(named.map((name) => [name, wordsAbout(name, message, named)]));
}

/** Envoy joins its complaints into one text: the part from this name to the next. */
function wordsAbout(name: string, message: string, names: readonly string[]): string {
  const start = message.indexOf(name);
  const ends = names.map((other) => message.indexOf(other, start + name.length)).filter((end) => end > start);
  return message.slice(start, Math.min(message.length, ...ends)).replace(/[,\s]+$/, "");
}

function hasChanged({ added, changed, withdrawn, repriced }: PublishResult): boolean {
  return added.length + changed.length + withdrawn.length + repriced.length > 0;
}
