import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ASSIGNMENT_TYPE, CLUSTER_TYPE, createAdsStream, ROUTE_TYPE } from "../../../../operator/xds/ads-stream.ts";
import { clusterName } from "../../../../operator/xds/cluster-name.ts";
import type { Endpoint, EndpointPool } from "../../../../operator/xds/endpoint.ts";
import { buildSnapshot } from "../../../../operator/xds/snapshot.ts";
import { ClusterLoadAssignmentSchema } from "../../../../runtime/gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RouteConfigurationSchema } from "../../../../runtime/gen/envoy/config/route/v3/route_pb.js";
import type { DiscoveryResponse } from "../../../../runtime/gen/envoy/service/discovery/v3/discovery_pb.js";

/** What Envoy is told of InferencePools (S57). */
function endpoint(changes: Partial<EndpointPool> = {}): Endpoint {
  return {
    host: "gpus.team-a.pool",
    port: 0,
    tls: null,
    credential: null,
    guard: null,
    connectTimeoutMs: 5_000,
    pool: {
      members: [{ host: "10.0.0.1", port: 8000 }],
      isHttp2: false,
      picker: { host: "10.0.9.9", port: 9002, isTls: true, failsOpen: false },
      ...changes,
    },
  };
}

const snapshotOf = (clusters: Record<string, Endpoint>) =>
  buildSnapshot({ clusters: new Map(Object.entries(clusters)), secrets: new Map() });
const picker = { host: "10.0.9.9", port: 9002, isTls: true, failsOpen: false };

test("pods are no part of the cluster's name or the configuration's version, and the picker is", () => {
  const name = (changes: Partial<EndpointPool>) => clusterName({ model: "m", backend: "b", endpoint: endpoint(changes) });
  const more = { members: [{ host: "10.0.0.2", port: 8000 }] };
  expect(name(more)).toBe(name({}));
  expect(snapshotOf({ a: endpoint(more) }).version).toBe(snapshotOf({ a: endpoint() }).version);
  for (const changed of [{ picker: { ...picker, failsOpen: true } }, { picker: { ...picker, port: 1 } }, { isHttp2: true }])
    expect(name(changed)).not.toBe(name({}));
});

test("a pool is three clusters, an assignment and a host of the listener for pools", () => {
  const snapshot = snapshotOf({ "model/m/b/1": endpoint(), "model/m/c/2": endpoint() });
  expect([...snapshot.clusters.keys()].slice(0, 3)).toEqual(["model/m/b/1", "model/m/b/1/pods", "model/m/b/1/picker"]);
  expect([...snapshot.assignments.keys()]).toEqual(["model/m/b/1/pods", "model/m/c/2/pods"]);
  const [routes] = [...snapshot.routes.values()].map(({ value }) => fromBinary(RouteConfigurationSchema, value));
  expect(routes?.virtualHosts.map(({ name }) => name)).toEqual(["model/m/b/1", "model/m/c/2"]);
  expect(new Set(routes?.virtualHosts.flatMap(({ domains }) => domains)).size).toBe(2);
  expect(routes?.virtualHosts.map(({ typedPerFilterConfig }) => Object.keys(typedPerFilterConfig))).toEqual([
    ["picker-fail-close"],
    ["picker-fail-close"],
  ]);
});

test("addresses of pods are written as a picker names them", () => {
  const members = [
    { host: "10.0.0.1", port: 8000 },
    { host: "fd00::1", port: 8001 },
  ];
  const [assignment] = [...snapshotOf({ a: endpoint({ members }) }).assignments.values()];
  const { endpoints } = fromBinary(ClusterLoadAssignmentSchema, assignment?.value ?? new Uint8Array());
  const hosts = endpoints.flatMap(({ lbEndpoints }) => lbEndpoints.map(({ hostIdentifier }) => hostIdentifier));
  expect(hosts.map(({ case: kind, value }) => (kind === "endpoint" ? value.hostname : kind))).toEqual([
    "10.0.0.1:8000",
    "[fd00::1]:8001",
  ]);
});

test("without pools, the listener for pools gets empty routes, and no Envoy is waited for because of it", () => {
  const sent: DiscoveryResponse[] = [];
  const stream = createAdsStream({ send: (response) => void sent.push(response), onRejected: () => {} });
  const snapshot = snapshotOf({});
  stream.update(snapshot);
  stream.receive({ typeUrl: CLUSTER_TYPE });
  stream.receive({ typeUrl: CLUSTER_TYPE, responseNonce: sent.at(-1)?.nonce ?? "" });
  expect(stream.standing(snapshot)).toEqual({ kind: "acked" });
  stream.receive({ typeUrl: ROUTE_TYPE, resourceNames: ["pools"] });
  expect(sent.at(-1)).toMatchObject({ typeUrl: ROUTE_TYPE, resources: [expect.anything()] });
});

test("an Envoy has a pool once it has its pods and its route; changed pods alone are sent alone", () => {
  const sent: DiscoveryResponse[] = [];
  const stream = createAdsStream({ send: (response) => void sent.push(response), onRejected: () => {} });
  const names: Record<string, string[]> = { [CLUSTER_TYPE]: [], [ASSIGNMENT_TYPE]: ["a/pods"], [ROUTE_TYPE]: ["pools"] };
  const ask = (typeUrl: string) => stream.receive({ typeUrl, resourceNames: names[typeUrl] });
  const confirm = (typeUrl: string) => {
    const responseNonce = sent.findLast((response) => response.typeUrl === typeUrl)?.nonce;
    stream.receive({ typeUrl, resourceNames: names[typeUrl], responseNonce });
  };
  const snapshot = snapshotOf({ a: endpoint() });
  stream.update(snapshot);
  for (const typeUrl of [CLUSTER_TYPE, ASSIGNMENT_TYPE, ROUTE_TYPE]) {
    ask(typeUrl);
    expect(stream.standing(snapshot)).toEqual({ kind: "waiting" });
    confirm(typeUrl);
  }
  expect(stream.standing(snapshot)).toEqual({ kind: "acked" });

  const before = sent.length;
  stream.update(snapshotOf({ a: endpoint({ members: [] }) }));
  expect(sent.slice(before).map(({ typeUrl }) => typeUrl)).toEqual([ASSIGNMENT_TYPE]);
});
