import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeEvents } from "../../kube/events.ts";
import { startReflector, type Reflector } from "../../kube/reflector.ts";
import { readyAddress, trimPod } from "./pool-objects.ts";

interface PodsDeps {
  client: Pick<KubeClient, "send" | "watch">;
  events: Pick<KubeEvents, "relisted" | "watchEnded" | "eventSeen">;
  /** Pods have changed. */
  onChange(): void;
}

type Labels = Readonly<Record<string, string>>;

/** The pods that pools select, by a watch for each pool: nothing is read of others. */
export interface PoolPods {
  /**
   * Watches the pods with these labels from now on, in place of earlier ones of the same key.
   * @returns whether they can be listed; resolves when they were. @throws Error if that takes too long, or did before.
   */
  follow(key: string, namespace: string, labels: Labels): Promise<boolean>;
  /** Addresses of ready ones, in order. */
  addresses(key: string): readonly string[];
  /** Ends the watches of all other keys. */
  keep(keys: ReadonlySet<string>): Promise<void>;
  stop(): Promise<void>;
}

/** For one list; the watch goes on trying. */
const LIST_MS = 10_000;
/** Whoever may read the pool lacks this right for long, or not at all. */
const REFUSED_FOR_MS = 2_000;

/** The pods with certain labels. */
interface Watch {
  labels: Labels;
  reflector: Reflector;
  state: "waiting" | "listed" | "refused";
}

export function createPoolPods({ client, events, onChange }: PodsDeps): PoolPods {
  const watches = new Map<string, Watch>();
  /** They take the place of those above once they have listed their pods: until then, the earlier pods count. */
  const successors = new Map<string, Watch>();

  function start(namespace: string, labels: Labels): { watch: Watch; answered: Promise<void> } {
    const deps = {
      client,
      kind: "pods",
      namespace,
      labels,
      events,
      onChange,
      trim: trimPod,
      refusedForMs: REFUSED_FOR_MS,
    } as const;
    const reflector = startReflector(deps);
    const watch: Watch = { labels, reflector, state: "waiting" };
    const become = async (when: Promise<void>, state: "listed" | "refused") => {
      await when;
      // Rights may come later.
      if (watch.state !== "listed") watch.state = state;
    };
    return { watch, answered: Promise.race([become(reflector.synced, "listed"), become(reflector.refused, "refused")]) };
  }

  async function end(from: Map<string, Watch>, key: string): Promise<void> {
    const watch = from.get(key);
    from.delete(key);
    await watch?.reflector.stop();
  }

  async function endAll(isUnwanted: (key: string) => boolean): Promise<void> {
    const each = [watches, successors].flatMap((from) => [...from.keys()].filter(isUnwanted).map((key) => end(from, key)));
    await Promise.all(each);
  }

  return {
    async follow(key, namespace, labels) {
      const isSame = (watch: Watch | undefined) => watch !== undefined && isDeepStrictEqual(watch.labels, labels);
      let watch = [successors.get(key), watches.get(key)].find(isSame);
      if (watch === undefined) {
        await end(successors, key);
        const started = start(namespace, labels);
        ({ watch } = started);
        successors.set(key, watch);
        await withinMs(LIST_MS, started.answered);
      }
      // It goes on in the background: the next call does not wait for it again.
      if (watch.state === "waiting")
        throw new Error(`The pods of InferencePool ${key} could not be listed within ${LIST_MS} ms.`);
      if (successors.get(key) === watch) {
        await end(watches, key);
        successors.delete(key);
        watches.set(key, watch);
      } else await end(successors, key);
      return watch.state === "listed";
    },
    addresses(key) {
      const addresses = [...(watches.get(key)?.reflector.values() ?? [])].flatMap((pod) => readyAddress(pod) ?? []);
      // Pods with their node's network share its address.
      return [...new Set(addresses)].toSorted();
    },
    keep: (keys) => endAll((key) => !keys.has(key)),
    stop: () => endAll(() => true),
  };
}

async function withinMs(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
