import { expect, test } from "vitest";
import { createAddressPolicy } from "../../../../operator/address/policy.ts";
import { resolvePool } from "../../../../operator/model/pool-backend.ts";
import { readFolder } from "../../../../operator/source/folder-content.ts";
import { reconcile } from "../../../../operator/model/reconcile.ts";
import type { SourcedPool } from "../../../../operator/source/pool.ts";

/** Models whose backend is an InferencePool (S57). */
const policy = createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: ["team-a"] });
const found: SourcedPool = {
  kind: "found",
  pool: {
    members: [{ host: "10.0.0.1", port: 8000 }],
    isHttp2: false,
    picker: { host: "10.0.9.9", port: 9002, failsOpen: true },
  },
};

function planFor(pools: ReadonlyMap<string, SourcedPool> | undefined, protocol = "ChatCompletions") {
  const text = JSON.stringify({
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name: "m", namespace: "team-a" },
    spec: {
      modelName: "m",
      pricing: { inputPerMillion: "1", outputPerMillion: "2" },
      backends: [{ name: "gpus", protocol, pool: { name: "gpus" } }],
    },
  });
  const { set, refusals } = readFolder([{ name: "in.yaml", text, createdSeconds: 1 }], new Map(), {});
  expect(refusals).toEqual([]);
  const [model] = set.models;
  const models =
    model === undefined ? [] : [{ ...model, resource: { ...model.resource, metadata: { name: "m", namespace: "team-a" } } }];
  const plan = reconcile({
    set: { ...set, models, ...(pools === undefined ? {} : { pools }) },
    nowMs: 0,
    roots: { pem: "", extra: { usable: [], unusable: [] } },
    mayProbe: true,
    policy,
    addresses: new Map(),
    missingHosts: new Set(),
    rejected: new Map(),
    serving: new Map(),
  });
  const [status] = plan.statuses.values();
  return { plan, conditions: Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, each])) };
}

test.for([
  ["ChatCompletions", "/v1"],
  ["Responses", "/v1"],
  ["Messages", ""],
] as const)("a pool that speaks %s is a backend with the path %s", ([protocol, basePath]) => {
  const { plan, conditions } = planFor(new Map([["team-a/gpus", found]]), protocol);
  expect(conditions).toMatchObject({ Accepted: { isTrue: true }, ResolvedRefs: { isTrue: true }, Reachable: { isTrue: true } });
  const [backend] = plan.catalogue.flatMap(({ model }) => model.backends);
  expect(backend).toMatchObject({ basePath, cluster: expect.stringMatching(/^model\/m\/gpus\/[0-9a-f]{8}$/) });
  expect([...plan.snapshot.clusters.keys()]).toEqual([backend?.cluster]);
});

test("a pool without a ready pod stays a backend, and is not reachable", () => {
  const empty: SourcedPool = { ...found, pool: { ...found.pool, members: [] } };
  const { plan, conditions } = planFor(new Map([["team-a/gpus", empty]]));
  expect(conditions["Reachable"]).toMatchObject({ isTrue: false, isPartial: false, reason: "NoReadyPods" });
  expect(plan.catalogue).toHaveLength(1);
});

test.for([
  [undefined, "PoolNotFound", "there are pools in a Kubernetes cluster only; here, name the server's url"],
  [new Map(), "PoolNotFound", "InferencePool team-a/gpus has not been read yet"],
  [
    new Map([["team-a/gpus", { kind: "missing", reason: "PoolInvalid", message: "selects no labels" } as const]]),
    "PoolInvalid",
    "InferencePool team-a/gpus selects no labels",
  ],
] as const)("a pool that cannot be used takes its backend out, with the reason: %#", ([pools, reason, words]) => {
  const { plan, conditions } = planFor(pools);
  expect(conditions["ResolvedRefs"]).toMatchObject({ isTrue: false, reason, message: expect.stringContaining(words) });
  expect(plan.catalogue).toEqual([]);
});

test.for([
  [
    { picker: { host: "169.254.169.254", port: 80, failsOpen: false } },
    "pool: the endpoint picker 169.254.169.254 is a link-local address",
  ],
  [{ members: [{ host: "127.0.0.1", port: 9901 }] }, "pool: pod 127.0.0.1 is a loopback address"],
] as const)("a pool at an address that is never a backend's is refused: %#", ([changes, words]) => {
  const sourced: SourcedPool = { ...found, pool: { ...found.pool, ...changes } };
  const { conditions } = planFor(new Map([["team-a/gpus", sourced]]));
  expect(conditions["Accepted"]).toMatchObject({
    isTrue: false,
    reason: "AddressNotAllowed",
    message: expect.stringContaining(words),
  });
});

test("a picker is reached by TLS unless the Model says otherwise", () => {
  const pools = new Map([["team-a/gpus", found]]);
  const isTls = (pickerTls: "Unverified" | "Disabled") => {
    const resolved = resolvePool({ name: "gpus", pickerTls }, { namespace: "team-a", pools, policy });
    return resolved.kind === "ready" ? resolved.pool.picker.isTls : null;
  };
  expect(isTls("Unverified")).toBe(true);
  expect(isTls("Disabled")).toBe(false);
});
