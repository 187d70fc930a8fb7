import type { Any } from "@bufbuild/protobuf/wkt";
import { createHash } from "node:crypto";
import { buildCluster, packCluster } from "./cluster.ts";
import type { Endpoint } from "./endpoint.ts";
import { packSecret, type SecretContent } from "./secret.ts";

/** Envoy's complete configuration, by resource name. */
export interface SnapshotInput {
  clusters: ReadonlyMap<string, Endpoint>;
  secrets: ReadonlyMap<string, SecretContent>;
}

/** State of the world for every Envoy. Equal content has an equal version, so replicas of the operator agree. */
export interface Snapshot {
  readonly version: string;
  readonly clusters: ReadonlyMap<string, Any>;
  readonly secrets: ReadonlyMap<string, Any>;
}

export function buildSnapshot({ clusters, secrets }: SnapshotInput): Snapshot {
  const packed = {
    clusters: mapSorted(clusters, (endpoint, name) => packCluster(buildCluster(name, endpoint))),
    secrets: mapSorted(secrets, (content, name) => packSecret(name, content)),
  };
  return { ...packed, version: versionOf([...packed.clusters.values(), ...packed.secrets.values()]) };
}

/** The version of a list of resources: a hash of their bytes in the given order. */
export function versionOf(resources: readonly Any[]): string {
  const hash = createHash("sha256");
  for (const { typeUrl, value } of resources) hash.update(`${typeUrl} ${value.length} `).update(value);
  return hash.digest("hex").slice(0, 16);
}

function mapSorted<From, To>(source: ReadonlyMap<string, From>, change: (value: From, name: string) => To): Map<string, To> {
  const sorted = [...source].sort(([first], [second]) => (first < second ? -1 : 1));
  return new Map(sorted.map(([name, value]) => [name, change(value, name)]));
}
