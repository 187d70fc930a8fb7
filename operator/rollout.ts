import type { PublishedModel, PublishResult } from "../ledger/catalogue.ts";
import type { OperatorEvents } from "./events.ts";
import { reconcile, type Plan } from "./model/reconcile.ts";
import type { ServedModel } from "./model/served-model.ts";
import { toProgrammed, toRejected, type ModelStatus } from "./model/status.ts";
import { createRetiredClusters } from "./retired-clusters.ts";
import type { ResourceSet } from "./source/source.ts";
import type { ClusterLimits } from "./xds/cluster.ts";
import type { XdsServer } from "./xds/serve.ts";
import { buildSnapshot, type Snapshot } from "./xds/snapshot.ts";

export interface RolloutDeps {
  xds: Pick<XdsServer, "push" | "waitForAck">;
  /** Makes the catalogue exactly these models. */
  publish(models: readonly PublishedModel[]): Promise<PublishResult>;
  events: Pick<OperatorEvents, "envoysLate" | "published">;
  clock: { nowMs(): number };
  limits: ClusterLimits;
  /** See ReconcileInput. */
  rootsPem: string;
  /** How long an Envoy may take to answer a push. */
  ackTimeoutMs: number;
  /** How long a replaced cluster stays after the catalogue has moved on: extproc's feed has to follow. */
  graceMs: number;
}

interface RolloutResult {
  statuses: ReadonlyMap<string, ModelStatus>;
  /** When there is something to do without any change of resources; null for never. */
  nextMs: number | null;
}

export interface Rollout {
  /** Brings the resources into force. One at a time. @throws what `publish` throws; the catalogue is then unchanged. */
  run(set: ResourceSet): Promise<RolloutResult>;
}

/** A cluster that is refused takes its Model out; more rounds than this mean that something else is wrong. */
const MOST_ROUNDS = 8;

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
    for (let round = 1; ; round++) {
      const nowMs = clock.nowMs();
      const plan = reconcile({ set, nowMs, rootsPem: deps.rootsPem, rejected, serving });
      const snapshot = buildSnapshot(retired.addTo(plan.snapshot, { serving, nowMs }), deps.limits);
      xds.push(snapshot);
      const outcome = await xds.waitForAck(deps.ackTimeoutMs);
      switch (outcome.kind) {
        case "rejected": {
          const named = namedClusters(plan, outcome.message);
          if (named.size > 0 && round < MOST_ROUNDS) {
            rejected = new Map([...rejected, ...named]);
            continue;
          }
          return goBack(plan, outcome.message);
        }
        case "late":
          events.envoysLate({ nodes: outcome.nodes, waitedMs: deps.ackTimeoutMs });
          return await settle(plan, snapshot, 0);
        case "acked":
          return await settle(plan, snapshot, outcome.envoys);
      }
    }
  }

  /** Envoy has it: now extproc may send requests there. */
  async function settle(plan: Plan, snapshot: Snapshot, envoys: number): Promise<RolloutResult> {
    const result = await publish(plan.catalogue);
    const nowMs = clock.nowMs();
    if (snapshot.version !== lastGood?.version || hasChanged(result)) {
      events.published({ ...result, version: snapshot.version, models: plan.catalogue.length, envoys });
    }
    lastGood = snapshot;
    retired.retire({ before: serving, after: plan.served, nowMs });
    serving = plan.served;
    // A corrected cluster has another name: what nobody asks for any more is forgotten.
    rejected = new Map([...rejected].filter(([cluster]) => plan.wantedClusters.has(cluster)));
    const message =
      envoys === 0 ? "in the catalogue; no Envoy is connected" : `in force in ${envoys} Envoy${envoys === 1 ? "" : "s"}`;
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toProgrammed(status, message)]));
    return { statuses, nextMs: retired.nextMs() };
  }

  /** Envoy's words name no cluster of ours: nothing new is taken, what was in force stays so. */
  function goBack(plan: Plan, words: string): RolloutResult {
    if (lastGood !== null) xds.push(lastGood);
    const statuses = new Map([...plan.statuses].map(([key, status]) => [key, toRejected(status, words)]));
    return { statuses, nextMs: retired.nextMs() };
  }

  return { run };
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
