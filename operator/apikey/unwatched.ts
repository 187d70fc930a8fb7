import type { Database } from "../../ledger/postgres/database.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeEvents } from "../kube/events.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/object.ts";
import { CLAIM_FIELD, type Ownership } from "../kube/ownership.ts";
import { startReflector } from "../kube/reflector.ts";
import { startWorkQueue, type Again } from "../kube/work-queue.ts";
import { releaseApiKey } from "./release.ts";

export interface UnwatchedApiKeysDeps {
  client: KubeClient;
  database: Database;
  /** Those that are watched. */
  namespaces: readonly string[];
  isLeader(): boolean;
  ownership: Pick<Ownership, "isOwn">;
  events: KubeEvents;
}

/** While this process leads. */
export interface UnwatchedApiKeys {
  stop(): Promise<void>;
}

/**
 * Revokes and releases the deleted ApiKeys of this release whose namespace is no longer watched: their finalizer is this
 * operator's, and without it they, and their namespace, would stay forever. Nothing else happens to them.
 */
export function startUnwatchedApiKeys(deps: UnwatchedApiKeysDeps): UnwatchedApiKeys {
  const { client, namespaces, isLeader, ownership, events } = deps;
  const reflector = startReflector({
    client,
    kind: "apikeys",
    namespace: null,
    notIn: namespaces,
    events,
    trim,
    onChange: (key) => queue.add(key),
  });

  async function work(key: string): Promise<Again> {
    const object = reflector.get(key);
    if (!isLeader() || object?.metadata.deletionTimestamp === undefined || !ownership.isOwn(object)) return null;
    try {
      return await releaseApiKey(deps, object);
    } catch (error) {
      if (isKubeError(error, 404)) return null;
      throw error;
    }
  }

  const queue = startWorkQueue({ name: "unwatched apikey", work, workers: 2, events });
  return {
    async stop() {
      await Promise.all([reflector.stop(), queue.stop()]);
    },
  };
}

/** Most belong to other releases. */
function trim({ metadata, status }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, finalizers } = metadata;
  const claim = typeof status === "object" && status !== null && CLAIM_FIELD in status ? status[CLAIM_FIELD] : undefined;
  return {
    metadata: { name, namespace, uid, resourceVersion, generation, deletionTimestamp, finalizers },
    status: { [CLAIM_FIELD]: claim },
  };
}
