import * as z from "zod";
import type { KubeClient } from "../../kube/client.ts";
import type { KubeEvents } from "../../kube/events.ts";
import { isKubeError, KubeError } from "../../kube/kube-error.ts";
import { splitKey } from "../../kube/object.ts";
import { objectPath } from "../../kube/paths.ts";
import { decodeValue, secretData } from "../../kube/secret-data.ts";
import type { UnreadableSecret } from "../source.ts";

/** Values by key; undefined if there is no such Secret, or it cannot be read. */
type SecretValues = ReadonlyMap<string, string> | undefined;

export interface SecretStoreDeps {
  client: Pick<KubeClient, "send">;
  events: Pick<KubeEvents, "secretUnreadable">;
  clock: { nowMs(): number };
}

/**
 * The Models' Secrets, each requested by name: a watch would require the right to read every Secret of a namespace, including
 * others'.
 */
export interface SecretStore {
  /**
   * Reads the used ones that are not known, and all of `renew`; forgets the others. One that cannot be read stays as it was known.
   * @throws if the API server does not answer, or, for a while, if it cannot give one that was never read.
   */
  read(names: ReadonlySet<string>, renew?: ReadonlySet<string>): Promise<void>;
  get(name: string): SecretValues;
  /** Those that cannot be read, and why. A value that was read before stays known, and a short failure to read it again is none. */
  readonly unreadable: ReadonlyMap<string, UnreadableSecret>;
}

const AT_ONCE = 8;
/** The API server may be starting. After that a Model does without a Secret that was never read, and all others go on. */
const PATIENCE_MS = 20_000;

const secretSchema = z.object({ data: secretData });

export function createSecretStore({ client, events, clock }: SecretStoreDeps): SecretStore {
  const known = new Map<string, SecretValues>();
  const unreadable = new Map<string, UnreadableSecret>();
  const failingSinceMs = new Map<string, number>();
  let hasReadAny = false;

  async function readOne(name: string): Promise<void> {
    try {
      const values = await fetchSecret(client, name);
      known.set(name, values);
      hasReadAny ||= values !== undefined;
      unreadable.delete(name);
      failingSinceMs.delete(name);
    } catch (error) {
      const why = whyUnreadable(name, error);
      if (why !== null) unreadable.set(name, why);
    }
  }

  /** @returns null for a while if its value is known. @throws the error if it is about more than this Secret, or may be. */
  function whyUnreadable(name: string, error: unknown): UnreadableSecret | null {
    const isForbidden = isKubeError(error, 403);
    // Such as one that was encrypted with a key that is lost: it must not stop the Models that do not use it.
    if (!(error instanceof KubeError) || (error.code < 500 && !isForbidden)) throw error;
    const now = clock.nowMs();
    if (!failingSinceMs.has(name)) {
      failingSinceMs.set(name, now);
      events.secretUnreadable({ secret: name, error });
    }
    const isRecent = now - (failingSinceMs.get(name) ?? now) < PATIENCE_MS;
    const { message } = error;
    if (known.get(name) !== undefined && isRecent) return null;
    if (isForbidden) return { reason: "SecretForbidden", message };
    // If none was ever read, the fault is the API server's: giving up would withdraw every Model that has a Secret.
    if (known.get(name) === undefined && (isRecent || !hasReadAny)) throw error;
    return { reason: "SecretUnreadable", message };
  }

  return {
    async read(names, renew = new Set()) {
      for (const each of [known, unreadable, failingSinceMs])
        for (const name of each.keys()) if (!names.has(name)) each.delete(name);
      const wanted = [...names].filter((name) => renew.has(name) || !known.has(name));
      const results: PromiseSettledResult<void>[] = [];
      for (let at = 0; at < wanted.length; at += AT_ONCE)
        results.push(...(await Promise.allSettled(wanted.slice(at, at + AT_ONCE).map(readOne))));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
    get: (name) => known.get(name),
    unreadable,
  };
}

async function fetchSecret(client: Pick<KubeClient, "send">, name: string): Promise<SecretValues> {
  try {
    const { data } = secretSchema.parse(await client.send({ method: "GET", path: objectPath("secrets", splitKey(name)) }));
    return new Map([...data].map(([key, value]) => [key, decodeValue(value)]));
  } catch (error) {
    if (isKubeError(error, 404)) return undefined;
    throw error;
  }
}
