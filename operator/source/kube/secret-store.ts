import * as z from "zod";
import type { KubeClient } from "../../kube/client.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { splitKey } from "../../kube/object.ts";
import { objectPath } from "../../kube/paths.ts";

/** Values by key; undefined if there is no such Secret, or the operator may not read it. */
type SecretValues = ReadonlyMap<string, string> | undefined;

/**
 * The Models' Secrets, each requested by name: a watch would require the right to read every Secret of a namespace, including
 * others'.
 */
export interface SecretStore {
  /**
   * Reads the used ones that are not known, and all of `renew`; forgets the others.
   * @throws if the API server does not answer; known values stay.
   */
  read(names: ReadonlySet<string>, renew?: ReadonlySet<string>): Promise<void>;
  get(name: string): SecretValues;
  /** Names that the API server refused (403), with its message. A value that was read before stays known. */
  readonly forbidden: ReadonlyMap<string, string>;
}

const AT_ONCE = 8;

const secretSchema = z.object({ data: z.record(z.string(), z.string()).nullish() });

export function createSecretStore(client: Pick<KubeClient, "send">): SecretStore {
  const known = new Map<string, SecretValues>();
  const forbidden = new Map<string, string>();

  async function readOne(name: string): Promise<void> {
    try {
      known.set(name, await fetchSecret(client, name));
      forbidden.delete(name);
    } catch (error) {
      // One namespace without rights must not stop the Models of the others.
      if (!isKubeError(error, 403)) throw error;
      forbidden.set(name, error.message);
    }
  }

  return {
    async read(names, renew = new Set()) {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
      for (const name of forbidden.keys()) if (!names.has(name)) forbidden.delete(name);
      const wanted = [...names].filter((name) => renew.has(name) || !known.has(name));
      for (let at = 0; at < wanted.length; at += AT_ONCE) await Promise.all(wanted.slice(at, at + AT_ONCE).map(readOne));
    },
    get: (name) => known.get(name),
    forbidden,
  };
}

async function fetchSecret(client: Pick<KubeClient, "send">, name: string): Promise<SecretValues> {
  try {
    const { data } = secretSchema.parse(await client.send({ method: "GET", path: objectPath("secrets", splitKey(name)) }));
    return new Map(Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]));
  } catch (error) {
    if (isKubeError(error, 404)) return undefined;
    throw error;
  }
}
