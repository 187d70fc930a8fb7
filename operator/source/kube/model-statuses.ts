import type { ModelStatus } from "../../model/status.ts";
import type { KubeClient } from "../../kube/client.ts";
import { findTransitions, readConditions } from "../../kube/conditions.ts";
import { createFreshObjects } from "../../kube/fresh-objects.ts";
import type { KubeEvents } from "../../kube/events.ts";
import type { KubeObject } from "../../kube/object.ts";
import { describeOther, type Ownership } from "../../kube/ownership.ts";
import type { Recorder } from "../../kube/recorder.ts";
import { applyStatus, isStatusSame } from "../../kube/status-writer.ts";
import { startWorkQueue, type Again } from "../../kube/work-queue.ts";
import type { SourcedModel } from "../source.ts";
import { encodeModelStatus, wantedConditions } from "./model-status.ts";

export interface ModelStatusesDeps {
  client: Pick<KubeClient, "send">;
  /** The current Model. */
  find(key: string): KubeObject | undefined;
  isLeader(): boolean;
  recorder: Pick<Recorder, "record">;
  ownership: Pick<Ownership, "claim" | "condition">;
  clock: { nowMs(): number };
  events: Pick<KubeEvents, "reconciled" | "queueLength">;
}

export interface DecidedStatus {
  /** The parsed resource; null if it is invalid. */
  model: SourcedModel | null;
  status: ModelStatus;
  version: string;
}

/** Writes the Models' outcomes to their statuses, as the leader, if they changed. */
export interface ModelStatuses {
  /** By key, all of them. */
  decide(statuses: ReadonlyMap<string, DecidedStatus>): void;
  stop(): Promise<void>;
}

const FIELD_MANAGER = "model-gateway-operator";
const WORKERS = 4;
/** Nothing reports the end of another release. */
const OTHERS_MS = 300_000;

export function startModelStatuses(deps: ModelStatusesDeps): ModelStatuses {
  const { client, find, isLeader, recorder, ownership, clock, events } = deps;
  const objects = createFreshObjects({ client, kind: "models", find });
  let decided: ReadonlyMap<string, DecidedStatus> = new Map();
  /** Announced deprecations, by uid and generation. */
  const deprecated = new Set<string>();

  async function work(key: string): Promise<Again> {
    if (!isLeader()) return null;
    const object = await objects.get(key);
    const decision = decided.get(key);
    if (object === undefined || decision === undefined) return null;
    // It has changed since: the next decision is about the current version.
    const generation = decision.model?.resource.metadata.generation;
    if (generation !== undefined && generation !== object.metadata.generation) return null;
    const claim = await ownership.claim("Model", object);
    if (claim.kind === "contested") return "outdated";
    if (claim.kind === "other's") {
      recorder.record({ kind: "Model", metadata: object.metadata, ...describeOther(claim.lease) });
      return OTHERS_MS;
    }
    recordDeprecation(object, decision);
    const { status, version } = decision;
    const content = encodeModelStatus({ object, status, version, nowMs: clock.nowMs(), managed: ownership.condition() });
    // The version changes with every Model: it is written together with this Model's own change.
    if (isStatusSame(object, content, ["configVersion"])) return null;
    const write = {
      kind: "Model",
      object,
      status: content,
      manager: FIELD_MANAGER,
      others: [],
      find: () => find(key),
    } as const;
    const written = await applyStatus(client, write);
    if (written === null) return null;
    objects.wrote(written);
    recordTransitions(object, status);
    return null;
  }

  function recordTransitions(object: KubeObject, status: ModelStatus): void {
    for (const { type, isTrue, reason, message } of findTransitions(wantedConditions(status), readConditions(object["status"]))) {
      const isRecorded = isTrue ? type === "Ready" : type !== "Ready" && reason !== "Pending" && reason !== "Suspended";
      if (isRecorded)
        recorder.record({ kind: "Model", metadata: object.metadata, type: isTrue ? "Normal" : "Warning", reason, note: message });
    }
  }

  function recordDeprecation({ metadata }: KubeObject, { model }: DecidedStatus): void {
    const deprecation = model?.resource.spec.deprecation;
    const since = deprecation?.deprecatedTime;
    const generation = `${metadata.uid} ${metadata.generation}`;
    if (deprecation === undefined || since === undefined || Date.parse(since) > clock.nowMs() || deprecated.has(generation))
      return;
    deprecated.add(generation);
    const { sunsetTime, replacement, message } = deprecation;
    const parts = [
      `deprecated since ${since}`,
      ...(sunsetTime === undefined ? [] : [`no longer served from ${sunsetTime}`]),
      ...(replacement === undefined ? [] : [`use ${replacement} instead`]),
      ...(message === undefined ? [] : [message]),
    ];
    recorder.record({ kind: "Model", metadata, type: "Warning", reason: "Deprecated", note: parts.join("; ") });
  }

  const queue = startWorkQueue({ name: "model", work, workers: WORKERS, events });
  return {
    decide(statuses) {
      decided = statuses;
      if (isLeader()) for (const key of statuses.keys()) queue.add(key);
    },
    stop: () => queue.stop(),
  };
}
