import type { KubeClient } from "../../kube/client.ts";
import type { KubeEvents } from "../../kube/events.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { splitKey } from "../../kube/object.ts";
import { objectPath } from "../../kube/paths.ts";
import type { SourcedPool } from "../pool.ts";
import { parsePool, parseServiceAddress, type PoolSpec } from "./pool-objects.ts";
import { createPoolPods } from "./pool-pods.ts";

export interface PoolStoreDeps {
  client: Pick<KubeClient, "send" | "watch">;
  events: Pick<KubeEvents, "relisted" | "watchEnded" | "eventSeen" | "poolUnreadable">;
  clock: { nowMs(): number };
  /** Pods of a pool have changed. */
  onChange(): void;
}

/**
 * The InferencePools that Models name, each requested by name like their Secrets, and a watch on the pods of each. Where no Model
 * names one, nothing is read, so a cluster without the extension is never asked for it.
 */
export interface PoolStore {
  /**
   * Reads those that are new or due; forgets the others. One that cannot be read stays as it was known.
   * @throws if one that was never read cannot be, for a while: without it, its Model's pods would lose their requests.
   */
  read(names: ReadonlySet<string>): Promise<void>;
  /** As they are now, by `namespace/name`. */
  current(): ReadonlyMap<string, SourcedPool>;
  /** Until the next one is due; Infinity if there is none. */
  readonly dueInMs: number;
  stop(): Promise<void>;
}

const RENEWED_AFTER_MS = 4_000;
const AT_ONCE = 8;
/** For a pool that was never read: the API server may be starting. After that its Model does without it, and all others go on. */
const PATIENCE_MS = 20_000;
/** Of one pool. More pods than that are a mistake of its selector. */
const MAX_MEMBERS = 2_000;

type Missing = Extract<SourcedPool, { kind: "missing" }>;
type Known = { kind: "found"; spec: PoolSpec; pickerHost: string } | Missing;

export function createPoolStore({ client, events, clock, onChange }: PoolStoreDeps): PoolStore {
  const known = new Map<string, { state: Known; readAtMs: number }>();
  const pods = createPoolPods({ client, events, onChange });
  const failingSinceMs = new Map<string, number>();

  async function readOne(key: string): Promise<void> {
    try {
      const state = await stateOf(key);
      failingSinceMs.delete(key);
      known.set(key, { state, readAtMs: clock.nowMs() });
    } catch (error) {
      keep(key, error);
    }
  }

  function keep(key: string, error: unknown): void {
    const now = clock.nowMs();
    const since = failingSinceMs.get(key) ?? now;
    failingSinceMs.set(key, since);
    const earlier = known.get(key);
    if (earlier === undefined && now - since < PATIENCE_MS) throw error;
    events.poolUnreadable({ pool: key, error });
    const state = earlier?.state ?? missing("PoolUnreadable", "cannot be read at the moment; the operator's log has the reason");
    known.set(key, { state, readAtMs: now });
  }

  async function stateOf(key: string): Promise<Known> {
    const { namespace, name } = splitKey(key);
    const pool = await find("inferencepools", { namespace, name }, "cannot be read");
    if (pool.kind === "missing") return pool;
    const spec = parsePool(pool.object);
    if (typeof spec === "string") return missing("PoolInvalid", spec);
    const service = await find(
      "services",
      { namespace, name: spec.picker.name },
      `has an endpoint picker, Service ${spec.picker.name}, that cannot be read`,
    );
    if (service.kind === "missing") return service;
    const pickerHost = parseServiceAddress(service.object);
    if (pickerHost === null)
      return missing("PoolInvalid", `has an endpoint picker, Service ${spec.picker.name}, without a cluster IP; give it one`);
    if (!(await pods.follow(key, namespace, spec.labels)))
      return missing("PoolForbidden", `selects pods that cannot be listed: ${REMEDY}`);
    return { kind: "found", spec, pickerHost };
  }

  /** @param words that continue the sentence after the pool's name. */
  async function find(kind: "inferencepools" | "services", at: { namespace: string; name: string }, words: string) {
    try {
      return { kind: "object", object: await client.send({ method: "GET", path: objectPath(kind, at) }) } as const;
    } catch (error) {
      if (isKubeError(error, 403)) return missing("PoolForbidden", `${words}: ${REMEDY}`);
      if (!isKubeError(error, 404)) throw error;
      // For a kind that it does not know, the API server answers without a Status.
      if (kind === "services") return missing("PoolNotFound", `has an endpoint picker, Service ${at.name}, that does not exist`);
      const isKnownKind = error.reason === "NotFound";
      return missing(
        "PoolNotFound",
        isKnownKind ? "does not exist" : "cannot exist: the cluster has no Gateway API Inference Extension",
      );
    }
  }

  return {
    async read(names) {
      for (const each of [known, failingSinceMs]) for (const key of each.keys()) if (!names.has(key)) each.delete(key);
      await pods.keep(names);
      const dueMs = clock.nowMs() - RENEWED_AFTER_MS;
      const due = [...names].filter((key) => (known.get(key)?.readAtMs ?? -Infinity) <= dueMs);
      const results: PromiseSettledResult<void>[] = [];
      for (let at = 0; at < due.length; at += AT_ONCE)
        results.push(...(await Promise.allSettled(due.slice(at, at + AT_ONCE).map(readOne))));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
    current() {
      return new Map([...known].map(([key, { state }]) => [key, sourced(state, pods.addresses(key))]));
    },
    get dueInMs() {
      const oldest = Math.min(...[...known.values()].map(({ readAtMs }) => readAtMs));
      return Math.max(0, oldest + RENEWED_AFTER_MS - clock.nowMs());
    },
    stop: () => pods.stop(),
  };
}

const REMEDY = "the operator lacks the right to; set operator.backends.inferencePools.enabled in the chart's values";

function missing(reason: Missing["reason"], message: string): Missing {
  return { kind: "missing", reason, message };
}

function sourced(state: Known, addresses: readonly string[]): SourcedPool {
  if (state.kind === "missing") return state;
  const { ports, isHttp2, picker } = state.spec;
  const members = addresses.flatMap((host) => ports.map((port) => ({ host, port }))).slice(0, MAX_MEMBERS);
  return {
    kind: "found",
    pool: { members, isHttp2, picker: { host: state.pickerHost, port: picker.port, failsOpen: picker.failsOpen } },
  };
}
