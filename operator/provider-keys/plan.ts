import { providerCluster, PROVIDER_CLUSTER_PREFIX } from "../../contract/provider-key.ts";
import type { ServedProviderKey } from "../../ledger/provider-keys/served-keys.ts";
import { headerValueOf } from "../model/credential-header-of.ts";
import type { Endpoint } from "../xds/endpoint.ts";
import type { SecretContent } from "../xds/secret.ts";
import type { OfferedServer } from "./offered-server.ts";
import type { OpenedProviderKey } from "./open-keys.ts";

/** What Envoy gets so that requests can be sent with accounts' own keys. */
export interface ProviderKeyPlan {
  /** By cluster name: one for each key and server. */
  clusters: ReadonlyMap<string, Endpoint>;
  /** By SDS name. */
  secrets: ReadonlyMap<string, SecretContent>;
  /** Names of all clusters that the keys need, including rejected ones. */
  wanted: ReadonlySet<string>;
  /** What becomes of each key, once Envoy has this. */
  keys: readonly ServedProviderKey[];
}

export interface ProviderKeyPlanInput {
  /** Of all served Models. */
  offered: readonly OfferedServer[];
  /** Oldest first: a newer one takes no older one's place. */
  keys: readonly OpenedProviderKey[];
  maxClusters: number;
  /** Clusters that an Envoy rejected. */
  rejected: ReadonlyMap<string, unknown>;
}

/** Pure. A key gets all of its clusters, or none. */
export function planProviderKeys({ offered, keys, maxClusters, rejected }: ProviderKeyPlanInput): ProviderKeyPlan {
  const servers = serversBy(offered);
  const clusters = new Map<string, Endpoint>();
  const secrets = new Map<string, SecretContent>();
  const wanted = new Set<string>();

  function stateOf(key: OpenedProviderKey): ServedProviderKey["state"] {
    if (key.value === null) return "unusable";
    const own = servers.get(destinationOf(key)) ?? [];
    const named = own.map((server) => ({ ...server, name: providerCluster(key.id, server.endpoint) }));
    for (const { name } of named) wanted.add(name);
    if (named.some(({ name }) => rejected.has(name))) return "unusable";
    if (clusters.size + named.length > maxClusters) return "no_room";
    for (const { name, server, header, form } of named) {
      const secret = `${PROVIDER_CLUSTER_PREFIX}${key.id}/${form}`;
      clusters.set(name, { ...server, credential: { header, secret } });
      secrets.set(secret, { kind: "credential", headerValue: headerValueOf(form, key.value) });
    }
    return "active";
  }

  const outcomes = keys.map((key) => {
    const { id, accountId, version, fingerprints } = key;
    return { id, accountId, version, fingerprints, state: stateOf(key) };
  });
  return { clusters, secrets, wanted, keys: outcomes };
}

/** By provider and origin, each server once. */
function serversBy(offered: readonly OfferedServer[]): ReadonlyMap<string, OfferedServer[]> {
  const distinct = new Map(offered.map((server) => [JSON.stringify([destinationOf(server), server.endpoint]), server]));
  return Map.groupBy(distinct.values(), destinationOf);
}

function destinationOf({ provider, origin }: { provider: string; origin: string }): string {
  return JSON.stringify([provider, origin]);
}
