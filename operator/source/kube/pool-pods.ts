import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeEvents } from "../../kube/events.ts";
import { startReflector, type Reflector } from "../../kube/reflector.ts";
import { readyAddress } from "./pool-objects.ts";

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
   * @returns whether they can be listed; resolves when they were.
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

export function createPoolPods({ client, events, onChange }: PodsDeps): PoolPods {
  const watches = new Map<string, { labels: Labels; reflector: Reflector }>();

  async function end(key: string): Promise<void> {
    const watch = watches.get(key);
    watches.delete(key);
    await watch?.reflector.stop();
  }

  return {
    async follow(key, namespace, labels) {
      let watch = watches.get(key);
      if (watch === undefined || !isDeepStrictEqual(watch.labels, labels)) {
        await end(key);
        const reflector = startReflector({
          client,
          kind: "pods",
          namespace,
          labels,
          events,
          onChange,
          refusedForMs: REFUSED_FOR_MS,
        });
        watch = { labels, reflector };
        watches.set(key, watch);
      }
      const { synced, refused } = watch.reflector;
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => late.reject(new Error(`The pods of InferencePool ${key} could not be listed within ${LIST_MS} ms.`)),
        LIST_MS,
      );
      try {
        return await Promise.race([synced.then(() => true), refused.then(() => false), late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    addresses: (key) => [...(watches.get(key)?.reflector.values() ?? [])].flatMap((pod) => readyAddress(pod) ?? []).toSorted(),
    async keep(keys) {
      await Promise.all([...watches.keys()].filter((key) => !keys.has(key)).map(end));
    },
    async stop() {
      await Promise.all([...watches.keys()].map(end));
    },
  };
}
