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
  /** Other replicas have Envoys of their own. */
  peers: Peers;
  /** Makes the catalogue exactly these models; null where another replica is to do it, and has not done it yet. */
  publish(models: readonly PublishedModel[]): Promise<PublishResult | null>;
  events: Pick<OperatorEvents, "envoysLate" | "published">;
  clock: { nowMs(): number };
  /** See ReconcileInput. */
  rootsPem: string;
  /** Where backends may be. */
  policy: AddressPolicy;
  names: Names;
  /** See ReconcileInput. */
  fingerprintsOf?: ReconcileInput["fingerprintsOf"];
  /** How long an Envoy may take to answer a push. */
  ackTimeoutMs: number;
  /** How long a replaced cluster stays after the catalogue has moved on: extproc's feed has to follow. */
  graceMs: number;
}

interface RolloutResult {
  statuses: ReadonlyMap<string, ModelStatus>;
  /** Of what Envoy was sent last. */
  version: string;
  /** When there is something to do without any change of resources; null for never. */
  nextMs: number | null;
}

export interface Rollout {
  /** Brings the resources into force. One at a time. @throws what `publish` throws; the catalogue is then unchanged. */
  run(set: ResourceSet): Promise<RolloutResult>;
}

/** A cluster that is refused takes its Model out; more rounds than this mean that something else is wrong. */
const MAX_ROUNDS = 8;
/** How soon a replica that does not publish looks again whether the one that does has. */
const FOLLOW_MS = 1_000;

/**
 * Envoy first, the catalogue after its ACK: no request is ever sent to a cluster that its Envoy does not know. What the
 * catalogue no longer names leaves Envoy last.
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

  /** What all Envoys make of it, this replica's own and the others'. */
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

  /** Envoy has it: now extproc may send requests there. */
  async function settle(plan: Plan, snapshot: Snapshot, envoys: number): Promise<RolloutResult> {
    const result = await publish(plan.catalogue);
    const nowMs = clock.nowMs();
    // What the catalogue still names has to stay in Envoy.
    if (result === null) return { statuses: plan.statuses, version: snapshot.version, nextMs: nowMs + FOLLOW_MS };
    if (snapshot.version !== lastGood?.version || hasChanged(result)) {
      events.published({ ...result, version: snapshot.version, models: plan.catalogue.length, envoys });
    }
    lastGood = snapshot;
    retired.retire({ before: serving, after: plan.served, nowMs });
    serving = plan.served;
    // A corrected cluster has another name: what nobody asks for any more is forgotten.
    rejected = new Map([...rejected].filter(([cluster]) => plan.wantedClusters.has(cluster)));
    const message = envoys === 0 ? "in the catalogue, but no Envoy is connected" : "active in all connected Envoys";
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toProgrammed(status, message)]));
    return { statuses, version: snapshot.version, nextMs: earliest(retired.nextMs(), plan.nextMs) };
  }

  /** Envoy's words name no cluster of ours: nothing new is taken, what was in force stays so. */
  function goBack(plan: Plan, { message, isOwn }: { message: string; isOwn: boolean }): RolloutResult {
    // Another replica's Envoys have gone back by themselves.
    if (lastGood !== null && isOwn) xds.push(lastGood);
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toRejected(status, message)]));
    return { statuses, version: lastGood?.version ?? "", nextMs: retired.nextMs() };
  }

  return { run };
}

/** Version of what the Models ask for: without what this replica keeps for a while, which the others may not have. */
function plannedVersion({ snapshot: { clusters, secrets } }: Plan, snapshot: Snapshot): string {
  const planned = [...snapshot.clusters].filter(([name]) => clusters.has(name));
  const used = [...snapshot.secrets].filter(([name]) => secrets.has(name));
  return versionOf([...planned, ...used].map(([, resource]) => resource));
}

function earliest(...times: readonly (number | null)[]): number | null {
  const due = times.filter((time) => time !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** The clusters that a NACK names, each with Envoy's words about it. */
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
