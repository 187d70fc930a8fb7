import type { Any } from "@bufbuild/protobuf/wkt";
import { createHash } from "node:crypto";
import { PROVIDER_CLUSTER_PREFIX } from "../../contract/provider-key.ts";
import type { Cluster } from "../../runtime/gen/envoy/config/cluster/v3/cluster_pb.js";
import { buildCluster, packCluster } from "./cluster.ts";
import type { Endpoint } from "./endpoint.ts";
import { poolAssignment } from "./pool-assignment.ts";
import { poolClusters } from "./pool-clusters.ts";
import { poolRoutes, POOL_ROUTES } from "./pool-routes.ts";
import { packSecret, type SecretContent } from "./secret.ts";

/** Envoy's complete configuration, by resource name. */
export interface SnapshotInput {
  clusters: ReadonlyMap<string, Endpoint>;
  secrets: ReadonlyMap<string, SecretContent>;
}

/** State of the world for every Envoy. Equal content, apart from pods and provider keys, has an equal version, so replicas of the operator agree. */
export interface Snapshot {
  readonly version: string;
  readonly clusters: ReadonlyMap<string, Any>;
  readonly secrets: ReadonlyMap<string, Any>;
  /** Filters of clusters that contain a secret. */
  readonly filters: ReadonlyMap<string, Any>;
  /** Names of the secrets that are certificates: an Envoy may reject them. */
  readonly certificates: ReadonlySet<string>;
  /** Of the pods' clusters, by those clusters' names. */
  readonly assignments: ReadonlyMap<string, Any>;
  /** Of the listener for pools; always there, because that listener waits for it. */
  readonly routes: ReadonlyMap<string, Any>;
}

export function buildSnapshot({ clusters, secrets }: SnapshotInput): Snapshot {
  const pools = [...clusters].flatMap(([name, { pool }]) => (pool === undefined ? [] : [{ name, pool }])).sort(byName);
  const packAll = (isWanted: (content: SecretContent) => boolean) =>
    mapSorted(new Map([...secrets].filter(([, content]) => isWanted(content))), (content, name) => packSecret(name, content));
  const packed = {
    clusters: new Map(
      [...clusters]
        .sort(byKey)
        .flatMap(([name, endpoint]) => clustersFor(name, endpoint).map((one) => [one.name, packCluster(one)])),
    ),
    secrets: packAll((content) => content.kind !== "signer"),
    filters: packAll((content) => content.kind === "signer"),
    certificates: new Set([...secrets].flatMap(([name, { kind }]) => (kind === "roots" ? [name] : []))),
    assignments: new Map(pools.map(poolAssignment)),
    routes: new Map([[POOL_ROUTES, poolRoutes(pools)]]),
  };
  // Pods and accounts' own keys come and go, which is no other configuration: every Model's status has its version.
  const { clusters: servers, secrets: values, filters, routes } = packed;
  return { ...packed, version: versionOf([servers, values, filters, routes].flatMap(lasting)) };
}

function clustersFor(name: string, endpoint: Endpoint): Cluster[] {
  return endpoint.pool === undefined ? [buildCluster(name, endpoint)] : poolClusters(name, endpoint, endpoint.pool);
}

function lasting(resources: ReadonlyMap<string, Any>): Any[] {
  return [...resources].filter(([name]) => !name.startsWith(PROVIDER_CLUSTER_PREFIX)).map(([, resource]) => resource);
}

/** The version of a list of resources: a hash of their bytes in the given order. */
export function versionOf(resources: readonly Any[]): string {
  const hash = createHash("sha256");
  for (const { typeUrl, value } of resources) hash.update(`${typeUrl} ${value.length} `).update(value);
  return hash.digest("hex").slice(0, 16);
}

function mapSorted<From, To>(source: ReadonlyMap<string, From>, change: (value: From, name: string) => To): Map<string, To> {
  return new Map([...source].sort(byKey).map(([name, value]) => [name, change(value, name)]));
}

function byKey([first]: readonly [string, unknown], [second]: readonly [string, unknown]): number {
  return first < second ? -1 : 1;
}

function byName(first: { name: string }, second: { name: string }): number {
  return first.name < second.name ? -1 : 1;
}
