import * as z from "zod";
import type { KubeClient } from "../kube/client.ts";
import { isKubeError, KubeError } from "../kube/kube-error.ts";
import { keyOf, type KubeObject } from "../kube/object.ts";
import { objectPath } from "../kube/paths.ts";
import { pause } from "../../runtime/wait.ts";
import type { ObservedSecret } from "./secret-object.ts";

export interface SecretPollDeps {
  client: Pick<KubeClient, "send">;
  /** The ApiKeys whose Secrets are checked. */
  objects(): Iterable<KubeObject>;
  isLeader(): boolean;
  /** The Secret of this ApiKey was edited, deleted or recreated. */
  onChange(key: string): void;
  pauseMs?: number;
}

const AT_ONCE = 4;
/** At most 40 per second: 400 Secrets are checked within ten seconds, and 10,000 in about four minutes. */
const PAUSE_MS = 100;

const objectSchema = z
  .object({ spec: z.object({ secretRef: z.object({ name: z.string() }).optional() }).default({}) })
  .catch({ spec: {} });
const secretSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const GONE = "gone";

export interface SecretPoll {
  /** Checks each Secret once. @throws if the API server does not answer, and at the end if it could not give one of them. */
  poll(signal: AbortSignal): Promise<void>;
  /** A reconciliation of this ApiKey was decided from this Secret: one that appears and is gone between two polls is missed. */
  noteObserved(key: string, secret: ObservedSecret): void;
}

/**
 * Finds Secrets that were edited or deleted by hand: the operator has no right to watch them, because that would be the right to
 * read every Secret of a namespace. The API server answers from its cache (resourceVersion=0).
 */
export function createSecretPoll({ client, objects, isLeader, onChange, pauseMs = PAUSE_MS }: SecretPollDeps): SecretPoll {
  /** By ApiKey, the version of its Secret that was polled or observed last. */
  const seen = new Map<string, string>();

  async function look(object: KubeObject): Promise<string | undefined> {
    const { namespace, name } = object.metadata;
    const path = objectPath("secrets", { namespace, name: objectSchema.parse(object).spec.secretRef?.name ?? name });
    try {
      return secretSchema.parse(await client.send({ method: "GET", path, query: { resourceVersion: "0" } })).metadata
        .resourceVersion;
    } catch (error) {
      if (isKubeError(error, 404)) return GONE;
      // Its reconciliation reports that in the resource.
      if (isKubeError(error, 403)) return undefined;
      throw error;
    }
  }

  function forgetOthers(): void {
    const keys = new Set([...objects()].map(keyOf));
    for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
  }

  return {
    async poll(signal) {
      const all = [...objects()];
      let failure: KubeError | undefined;
      for (let at = 0; at < all.length && isLeader() && !signal.aborted; at += AT_ONCE) {
        const batch = all.slice(at, at + AT_ONCE);
        const found = await Promise.allSettled(batch.map(look));
        for (const [index, object] of batch.entries()) {
          const result = found[index];
          if (result?.status === "rejected") {
            if (!(result.reason instanceof KubeError)) throw result.reason;
            failure = result.reason;
          }
          const key = keyOf(object);
          const version = result?.status === "fulfilled" ? result.value : undefined;
          // The first time, too: it may have been edited since the ApiKey was reconciled.
          if (version === undefined || seen.get(key) === version) continue;
          seen.set(key, version);
          onChange(key);
        }
        await pause(pauseMs, signal);
      }
      forgetOthers();
      if (failure !== undefined) throw failure;
    },
    noteObserved(key, secret) {
      if (secret.kind !== "unread") seen.set(key, secret.kind === "missing" ? GONE : secret.resourceVersion);
    },
  };
}
