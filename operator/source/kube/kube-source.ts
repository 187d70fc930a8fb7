import { isDeepStrictEqual } from "node:util";
import type { OperatorEvents } from "../../events.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeEvents } from "../../kube/events.ts";
import { startReflectors, type Namespaces } from "../../kube/namespaces.ts";
import type { Ownership } from "../../kube/ownership.ts";
import type { Recorder } from "../../kube/recorder.ts";
import { describeRefusal, type ResourceSet, type Source } from "../source.ts";
import { createModelReader, namedPools, namedSecrets, toResourceSet, type ModelReading } from "./model-set.ts";
import { startModelStatuses, type DecidedStatus } from "./model-statuses.ts";
import { createPoolStore } from "./pool-store.ts";
import { createSecretStore } from "./secret-store.ts";
import { backOffMs, createWakeUp, pause } from "../../../runtime/wait.ts";

export interface KubeSourceDeps {
  client: KubeClient;
  namespaces: Namespaces;
  isLeader(): boolean;
  recorder: Pick<Recorder, "record">;
  ownership: Pick<Ownership, "claim" | "condition">;
  clock: { nowMs(): number };
  /** Measures how long ago something was: unlike `clock`, nobody sets it back. */
  steady: { nowMs(): number };
  events: KubeEvents & Pick<OperatorEvents, "resourceRefused" | "sourceUnreadable" | "sourceReadable">;
  /** `current()` has changed. */
  onChange(): void;
  times?: Partial<KubeSourceTimes>;
}

interface KubeSourceTimes {
  /** Existing Secrets may have changed. */
  secretsMs: number;
  /** Missing ones are waited for. */
  missingMs: number;
}

const TIMES: KubeSourceTimes = { secretsMs: 8_000, missingMs: 5_000 };
/** Many Secrets are read less often: at most 20 per second. */
const EACH_SECRET_MS = 50;
/** A burst of changes is read once. */
const GATHER_MS = 20;
const BACK_OFF = { firstMs: 500, maxMs: 15_000 } as const;

/**
 * Models from a watch, and the Secrets and InferencePools that they use. Until everything was read once, `current` must not be called: an incomplete
 * state would remove the rest from Envoy.
 */
export function startKubeSource(deps: KubeSourceDeps): Source & { readonly synced: Promise<void> } {
  const { client, events, onChange, steady } = deps;
  const { secretsMs, missingMs } = { ...TIMES, ...deps.times };
  const stopping = new AbortController();
  const wakeUp = createWakeUp();
  const synced = Promise.withResolvers<void>();
  const secrets = createSecretStore({ client, events, clock: steady });
  const pools = createPoolStore({ client, events, clock: steady, onChange: wakeUp.wake });
  const readModels = createModelReader();
  const changed = new Set<string>();
  let reading: ModelReading = { models: [], refusals: new Map() };
  let set: ResourceSet | null = null;
  let renewAtMs = 0;
  let reported: ReadonlySet<string> = new Set();

  const models = startReflectors(deps.namespaces, {
    client,
    kind: "models",
    events,
    onChange(key) {
      changed.add(key);
      wakeUp.wake();
    },
  });
  const statuses = startModelStatuses({ ...deps, find: (key) => models.get(key) });

  async function refresh(): Promise<void> {
    const next = readModels(models.values());
    const names = namedSecrets(next.models);
    const isDue = steady.nowMs() >= renewAtMs;
    const touched = namedSecrets(next.models.filter(({ key }) => changed.has(key)));
    const missing = [...names].filter((name) => secrets.get(name) === undefined);
    changed.clear();
    await secrets.read(names, isDue ? names : new Set([...touched, ...missing]));
    await pools.read(namedPools(next.models));
    if (isDue) renewAtMs = steady.nowMs() + Math.max(secretsMs, names.size * EACH_SECRET_MS);
    const areRefusalsNew = announce(next);
    const before = set;
    set = { ...toResourceSet(next, secrets), pools: pools.current() };
    reading = next;
    synced.resolve();
    if (before === null || areRefusalsNew || !isSameSet(before, set)) onChange();
  }

  /** @returns whether any was not reported yet. */
  function announce({ refusals }: ModelReading): boolean {
    const unreported = [...refusals.values()].filter((refusal) => !reported.has(describeRefusal(refusal)));
    for (const refusal of unreported) events.resourceRefused(refusal);
    reported = new Set([...refusals.values()].map(describeRefusal));
    return unreported.length > 0;
  }

  async function run(): Promise<void> {
    await Promise.race([models.synced, aborted(stopping.signal)]);
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        await refresh();
        failures = 0;
        events.sourceReadable();
        const areMissing = [...namedSecrets(reading.models)].some((name) => secrets.get(name) === undefined);
        const secretsInMs = areMissing ? missingMs : Math.max(0, renewAtMs - steady.nowMs());
        await wakeUp.wait(Math.min(secretsInMs, pools.dueInMs), stopping.signal);
        await pause(GATHER_MS, stopping.signal);
      } catch (error) {
        failures += 1;
        events.sourceUnreadable({ source: "the Kubernetes API", error });
        await pause(backOffMs(BACK_OFF, failures, Math.random()), stopping.signal);
      }
    }
  }

  const ended = run();
  return {
    synced: synced.promise,
    current() {
      if (set === null) throw new Error("The Models have not been read yet.");
      return set;
    },
    async reportStatuses({ set, statuses: became, version }) {
      const decided = new Map<string, DecidedStatus>(
        set.models.flatMap((model) => {
          const status = became.get(model.key);
          return status === undefined ? [] : [[model.key, { model, status, version }] as const];
        }),
      );
      for (const [key, refusal] of reading.refusals) {
        const suffix = refusal.isLastGoodKept ? "; the last valid version stays in force" : "";
        const message = `${refusal.problem}${suffix}`;
        const conditions = [{ type: "Accepted", isTrue: false, reason: "Invalid", message }] as const;
        decided.set(key, { model: null, status: { conditions, backends: [] }, version });
      }
      statuses.decide(decided);
    },
    async stop() {
      stopping.abort();
      await Promise.all([models.stop(), ended, statuses.stop(), pools.stop()]);
    },
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}

function isSameSet(first: ResourceSet, second: ResourceSet): boolean {
  return (
    first.models.length === second.models.length &&
    first.models.every(({ resource }, at) => resource === second.models[at]?.resource) &&
    isDeepStrictEqual(first.unreadableSecrets, second.unreadableSecrets) &&
    isDeepStrictEqual(first.pools, second.pools) &&
    first.secrets.size === second.secrets.size &&
    [...first.secrets].every(([name, values]) => isSameValues(values, second.secrets.get(name)))
  );
}

function isSameValues(first: ReadonlyMap<string, string>, second: ReadonlyMap<string, string> | undefined): boolean {
  if (first === second) return true;
  return first.size === second?.size && [...first].every(([key, value]) => second.get(key) === value);
}
