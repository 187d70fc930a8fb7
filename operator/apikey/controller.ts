import type { Database } from "../../ledger/postgres/database.ts";
import { listResourceKeys, RESOURCE_PAGE, revokeResourceKey, type KnownResource } from "../../ledger/keys/resource-keys.ts";
import type { KubeClient } from "../kube/client.ts";
import { findTransitions, readConditions, type WantedCondition } from "../kube/conditions.ts";
import type { KubeEvents } from "../kube/events.ts";
import { createFreshObjects } from "../kube/fresh-objects.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { keyOf, kubeObjectSchema, splitKey, type KubeObject } from "../kube/object.ts";
import { describeOther, type Ownership } from "../kube/ownership.ts";
import { objectPath } from "../kube/paths.ts";
import type { Recorder } from "../kube/recorder.ts";
import { applyStatus, isStatusSame } from "../kube/status-writer.ts";
import { startWorkQueue, type Again } from "../kube/work-queue.ts";
import { applyApiKey, type Applied } from "./apply.ts";
import { ACTIVITY_FIELDS, isActivityOf, writeActivity } from "./activity.ts";
import { describeFailure, RECONCILE_FAILED } from "./failure.ts";
import { FINALIZER } from "./finalizer.ts";
import { releaseApiKey } from "./release.ts";
import { parseApiKeyResource, type ApiKeyResource } from "./resource.ts";
import { createSecretPoll } from "./secret-poll.ts";
import { decideConditions, encodeApiKeyStatus, type ApiKeyOutcome } from "./status.ts";

export interface ApiKeyControllerDeps {
  client: KubeClient;
  database: Database;
  pepper: Buffer;
  /** This installation of the operator. */
  origin: string;
  isLeader(): boolean;
  isWatched(namespace: string): boolean;
  find(key: string): KubeObject | undefined;
  keys(): Iterable<string>;
  recorder: Pick<Recorder, "record">;
  ownership: Ownership;
  clock: { nowMs(): number };
  events: KubeEvents;
  times?: Partial<ApiKeyTimes>;
}

export interface ApiKeyTimes {
  /** Changes without an event. */
  recheckMs: number;
  /** How often usage and spending are checked. */
  activityMs: number;
  /** How often orphaned keys are searched for. */
  sweepMs: number;
  /** Interval between two checks of all Secrets. */
  secretsMs: number;
}

const TIMES: ApiKeyTimes = { recheckMs: 300_000, activityMs: 60_000, sweepMs: 600_000, secretsMs: 5_000 };
const FIELD_MANAGER = "model-gateway-operator";
const WORKERS = 16;
const FAILURE_WORKERS = 2;
/** One failure may be chance: the second in a row is shown in the resource. */
const REPORTED_FROM = 2;
/** An account or a project may be created at any time, without an event. */
const UNKNOWN_ACCOUNT_MS = 5_000;
const UNKNOWN_PROJECT_MS = 30_000;

/** Keeps keys in sync with their ApiKeys while this process leads. */
export interface ApiKeyController {
  changed(key: string): void;
  stop(): Promise<void>;
}

export function startApiKeyController(deps: ApiKeyControllerDeps): ApiKeyController {
  const { client, database, origin, isLeader, find, recorder, ownership, clock, events } = deps;
  const { recheckMs, activityMs, sweepMs, secretsMs } = { ...TIMES, ...deps.times };
  const objects = createFreshObjects({ client, kind: "apikeys", find });
  const secrets = createSecretPoll({ client, objects: apiKeys, isLeader, onChange: (key) => queue.add(key) });

  async function work(key: string): Promise<Again> {
    if (!isLeader()) return null;
    const object = await objects.get(key);
    if (object === undefined) {
      await revokeOrphans(splitKey(key));
      return null;
    }
    const claim = await ownership.claim("ApiKey", object);
    if (claim.kind === "contested") return "outdated";
    if (claim.kind === "other's") {
      record(object, describeOther(claim.lease));
      return recheckMs;
    }
    try {
      return await (object.metadata.deletionTimestamp === undefined ? apply(object) : releaseApiKey(deps, object));
    } catch (error) {
      // It was deleted or changed since it was read: the watch reports that.
      if (isKubeError(error, 404) && find(key) === undefined) return null;
      throw error;
    }
  }

  async function apply(object: KubeObject): Promise<number | null> {
    const parsed = parseApiKeyResource(object);
    if (parsed.kind === "bad") {
      await report(object, { kind: "invalid", problems: parsed.problems });
      return null;
    }
    const { resource } = parsed;
    // It may have replaced one whose finalizer somebody removed: the watch's two events are processed as one.
    if (!object.metadata.finalizers.includes(FINALIZER)) await revokeOrphans(splitKey(keyOf(object)));
    const applied = await applyApiKey(deps, object, resource);
    if (applied === null) return null;
    secrets.noteObserved(keyOf(object), applied.secret);
    if (applied.hasRotated) record(object, { type: "Normal", reason: "Rotated", note: "the Secret has a new value" });
    await report(object, { ...applied, kind: "valid", resource });
    return untilNext(resource, applied);
  }

  /** For changes that depend only on time. */
  function untilNext({ spec }: ApiKeyResource, { key, hasAccount, hasProject }: Applied): number {
    const nowMs = clock.nowMs();
    const times = [Date.parse(spec.expiresAt ?? ""), key?.previousUntil?.getTime() ?? NaN].filter((time) => time > nowMs);
    // Spread out, so that ten thousand are not processed at one moment.
    const regularMs = recheckMs * (0.75 + Math.random() / 2);
    if (!hasAccount) times.push(nowMs + UNKNOWN_ACCOUNT_MS);
    else if (!hasProject) times.push(nowMs + UNKNOWN_PROJECT_MS);
    return Math.min(regularMs, ...times.map((time) => time - nowMs + 100));
  }

  async function report(object: KubeObject, outcome: ApiKeyOutcome): Promise<void> {
    const nowMs = clock.nowMs();
    const status = encodeApiKeyStatus(object, outcome, { nowMs, managed: ownership.condition() });
    const others = isActivityOf(object, outcome) ? ACTIVITY_FIELDS : [];
    if (!isLeader() || isStatusSame(object, status, others)) return;
    const write = { kind: "ApiKey", object, status, manager: FIELD_MANAGER, others, find: () => find(keyOf(object)) } as const;
    const written = await applyStatus(client, write);
    if (written === null) return;
    objects.wrote(written);
    recordTransitions(object, decideConditions(outcome, nowMs));
  }

  function recordTransitions(object: KubeObject, conditions: readonly WantedCondition[]): void {
    for (const { type, isTrue, reason, message } of findTransitions(conditions, readConditions(object["status"]))) {
      if (type === "Ready") record(object, { type: isTrue ? "Normal" : "Warning", reason, note: message });
    }
  }

  function record({ metadata }: KubeObject, occurrence: { type: "Normal" | "Warning"; reason: string; note: string }): void {
    recorder.record({ kind: "ApiKey", metadata, ...occurrence });
  }

  /** If someone removed the finalizer by hand, or deleted the ApiKey while no operator ran, an orphaned key remains. */
  async function revokeOrphans(resource?: { namespace: string; name: string }): Promise<void> {
    let afterUid: string | undefined;
    do {
      const page = await listResourceKeys(database, {
        origin,
        ...(resource === undefined ? {} : { resource }),
        ...(afterUid === undefined ? {} : { afterUid }),
      });
      for (const resource of page) await revokeOrphan(resource);
      afterUid = page.length < RESOURCE_PAGE ? undefined : page.at(-1)?.uid;
    } while (afterUid !== undefined && isLeader());
  }

  async function revokeOrphan(resource: KnownResource): Promise<void> {
    if (!deps.isWatched(resource.namespace) || find(`${resource.namespace}/${resource.name}`)?.metadata.uid === resource.uid)
      return;
    // The list may be older than the key: the API server itself is queried.
    if (!isLeader() || !(await isGone(resource))) return;
    if (await revokeResourceKey(database, resource.uid)) events.orphanRevoked(resource);
  }

  async function isGone(resource: KnownResource): Promise<boolean> {
    try {
      const object = await client.send({ method: "GET", path: objectPath("apikeys", resource) });
      return kubeObjectSchema.parse(object).metadata.uid !== resource.uid;
    } catch (error) {
      if (isKubeError(error, 404)) return true;
      // The operator lacks the rights there: the key is left alone, and the sweep continues with the other namespaces.
      if (isKubeError(error, 403)) return false;
      throw error;
    }
  }

  /** By key, the message for the resource. */
  const failures = new Map<string, unknown>();

  async function reportFailure(key: string): Promise<null> {
    const object = await objects.get(key);
    const description = object === undefined ? null : describeFailure(object, failures.get(key), clock.nowMs());
    // Nothing is reported on a resource of another release, or on one whose claim could not be written.
    const isOwn =
      object !== undefined && failures.has(key) && isLeader() && (await ownership.claim("ApiKey", object)).kind === "own";
    if (isOwn && description !== null) {
      const { status, message } = description;
      if (!isStatusSame(object, status, ACTIVITY_FIELDS)) {
        const write = { kind: "ApiKey", object, status, manager: FIELD_MANAGER, find: () => find(key) } as const;
        const written = await applyStatus(client, write);
        if (written !== null) objects.wrote(written);
        record(object, { type: "Warning", reason: RECONCILE_FAILED, note: message });
      }
    }
    failures.delete(key);
    return null;
  }

  const failureQueue = startWorkQueue({ name: "apikey failure", work: reportFailure, workers: FAILURE_WORKERS, events });
  const queue = startWorkQueue({
    name: "apikey",
    async work(key) {
      const againMs = await work(key);
      failures.delete(key);
      return againMs;
    },
    workers: WORKERS,
    events,
    onFailure({ key, error, failures: count }) {
      if (count < REPORTED_FROM) return;
      failures.set(key, error);
      failureQueue.add(key);
    },
  });
  for (const key of deps.keys()) queue.add(key);
  const stopping = new AbortController();
  const pauseOf = (round: string) => (round === "sweep" ? sweepMs : round === "secrets" ? secretsMs : activityMs);
  function* apiKeys(): Generator<KubeObject> {
    for (const key of deps.keys()) {
      const object = find(key);
      if (object !== undefined) yield object;
    }
  }

  const rounds = startWorkQueue({
    name: "round",
    workers: 3,
    events,
    async work(round) {
      if (!isLeader()) return null;
      if (round === "sweep") await revokeOrphans();
      else if (round === "secrets") await secrets.poll(stopping.signal);
      else await writeActivity({ ...deps, onSpendLimit: (key) => queue.add(key) });
      return pauseOf(round);
    },
  });
  rounds.add("sweep");
  rounds.add("activity");
  rounds.add("secrets");

  return {
    changed: (key) => queue.add(key),
    async stop() {
      stopping.abort();
      await Promise.all([queue.stop(), rounds.stop()]);
      await failureQueue.stop();
    },
  };
}
