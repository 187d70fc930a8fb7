import type { KubeClient } from "./client.ts";
import { isKubeError } from "./kube-error.ts";
import { keyOf, kubeObjectSchema, splitKey, type KubeObject } from "./object.ts";
import { objectPath } from "./paths.ts";

/** Objects of one kind, never without what this process itself wrote to them. */
export interface FreshObjects {
  /**
   * As the watch has it, or, while that lacks an own write, as the API server has it: a watch may be late or broken.
   * @returns undefined if there is none. @throws as the client.
   */
  get(key: string): Promise<KubeObject | undefined>;
  /** To be called with the API server's answer to each write. */
  wrote(object: KubeObject): void;
}

export interface FreshObjectsDeps {
  client: Pick<KubeClient, "send">;
  kind: "models" | "apikeys";
  /** As the watch has it. */
  find(key: string): KubeObject | undefined;
}

export function createFreshObjects({ client, kind, find }: FreshObjectsDeps): FreshObjects {
  /** By key, until the watch has them. */
  const written = new Map<string, KubeObject["metadata"]>();

  return {
    async get(key) {
      const watched = find(key);
      const own = written.get(key);
      if (watched === undefined || own === undefined || !isOlder(watched.metadata, own)) {
        written.delete(key);
        return watched;
      }
      try {
        return kubeObjectSchema.parse(await client.send({ method: "GET", path: objectPath(kind, splitKey(key)) }));
      } catch (error) {
        if (isKubeError(error, 404)) return undefined;
        throw error;
      }
    },
    wrote(object) {
      written.set(keyOf(object), object.metadata);
    },
  };
}

/** Versions of one object grow. Of any that are not numbers, nothing is known. */
function isOlder(first: KubeObject["metadata"], second: KubeObject["metadata"]): boolean {
  const versions = [first.resourceVersion, second.resourceVersion];
  if (first.uid !== second.uid || !versions.every((version) => /^\d+$/.test(version))) return false;
  return BigInt(first.resourceVersion) < BigInt(second.resourceVersion);
}
