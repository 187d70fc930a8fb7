import { expect, onTestFinished, test } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { parsePool, parseServiceAddress, readyAddress, trimPod } from "../../../../operator/source/kube/pool-objects.ts";
import { createPoolStore } from "../../../../operator/source/kube/pool-store.ts";

/** What the operator reads of InferencePools (S57). */
const spec = {
  selector: { matchLabels: { app: "vllm" } },
  targetPorts: [{ number: 8000 }, { number: 8001 }],
  endpointPickerRef: { name: "epp", port: { number: 9002 } },
};

test("a pool's selector, ports and picker are read, with the extension's defaults", () => {
  expect(parsePool({ spec })).toEqual({
    labels: { app: "vllm" },
    ports: [8000, 8001],
    isHttp2: false,
    picker: { name: "epp", port: 9002, failsOpen: false },
  });
  const changed = {
    ...spec,
    appProtocol: "kubernetes.io/h2c",
    endpointPickerRef: { ...spec.endpointPickerRef, failureMode: "FailOpen" },
  };
  expect(parsePool({ spec: changed })).toMatchObject({ isHttp2: true, picker: { failsOpen: true } });
});

test.for([
  [{ ...spec, selector: { matchLabels: {} } }, "selects no labels"],
  [{ ...spec, endpointPickerRef: undefined }, "names no endpoint picker"],
  [{ ...spec, endpointPickerRef: { ...spec.endpointPickerRef, kind: "Other" } }, "that is no Service"],
  [{ ...spec, endpointPickerRef: { name: "epp" } }, "that is no Service"],
  [{ ...spec, targetPorts: [] }, "has a form that this version of the gateway does not read"],
  [{ ...spec, selector: { matchLabels: { app: "a b" } } }, "has a form that this version of the gateway does not read"],
  [{ ...spec, selector: { matchLabels: { "a,b!": "" } } }, "has a form that this version of the gateway does not read"],
  [
    { ...spec, endpointPickerRef: { name: "epp/proxy", port: { number: 9002 } } },
    "has a form that this version of the gateway does not read",
  ],
] as const)("a pool that cannot be used says why: %#", ([given, words]) => {
  expect(parsePool({ spec: given })).toContain(words);
});

test("a picker is at its Service's own address, and nowhere else", () => {
  expect(parseServiceAddress({ spec: { clusterIP: "10.0.9.9" } })).toBe("10.0.9.9");
  expect(parseServiceAddress({ spec: { clusterIP: "fd00::9" } })).toBe("fd00::9");
  for (const given of [{ clusterIP: "None" }, { clusterIP: "" }, {}, { type: "ExternalName", clusterIP: "10.0.9.9" }])
    expect(parseServiceAddress({ spec: given })).toBeNull();
});

function pod(name: string, status: object, metadata: object = {}) {
  return {
    metadata: { name, namespace: "a", uid: name, resourceVersion: "1", generation: 0, finalizers: [], ...metadata },
    status,
  };
}
const ready = [{ type: "Ready", status: "True" }];

test("only a pod that is ready, has an address and is not ending gets requests", () => {
  expect(readyAddress(pod("p", { podIP: "10.0.0.1", conditions: ready }))).toBe("10.0.0.1");
  for (const each of [
    pod("p", { podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "False" }] }),
    pod("p", { podIP: "10.0.0.1" }),
    pod("p", { conditions: ready }),
    pod("p", { podIP: "pod.example", conditions: ready }),
    pod("p", { podIP: "10.0.0.1", conditions: ready }, { deletionTimestamp: "2026-11-24T00:00:00Z" }),
  ])
    expect(readyAddress(each)).toBeNull();
});

/** A watch without events. */
async function* silence({ signal }: { signal: AbortSignal }): AsyncGenerator<unknown, void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve());
  await promise;
  yield* [];
}

/** An API server that answers each path with an object, or with an error's code. */
function startStore(answers: Record<string, object | number>) {
  const asked: string[] = [];
  const unreadable: string[] = [];
  let nowMs = 0;
  const store = createPoolStore({
    client: {
      async send({ path, query }) {
        asked.push(query?.["labelSelector"] === undefined ? path : `${path}?${query["labelSelector"]}`);
        const answer = answers[path];
        if (answer === undefined) throw new KubeError(404, { reason: "NotFound", message: "" });
        if (typeof answer === "number") throw new KubeError(answer, { reason: answer === 404 ? "" : "Forbidden", message: "" });
        return answer;
      },
      watch: silence,
    },
    events: { relisted() {}, watchEnded() {}, eventSeen() {}, poolUnreadable: ({ pool }) => void unreadable.push(pool) },
    clock: { nowMs: () => nowMs },
    onChange() {},
  });
  onTestFinished(() => store.stop());
  return { store, asked, unreadable, pass: (ms: number) => (nowMs += ms) };
}

const POOL = "/apis/inference.networking.k8s.io/v1/namespaces/a/inferencepools/gpus";
const SERVICE = "/api/v1/namespaces/a/services/epp";
const PODS = "/api/v1/namespaces/a/pods";
const all = {
  [POOL]: { spec },
  [SERVICE]: { spec: { clusterIP: "10.0.9.9" } },
  [PODS]: { metadata: { resourceVersion: "1" }, items: [pod("p", { podIP: "10.0.0.1", conditions: ready }), pod("q", {})] },
};

test("a pool's members are its ready pods with each port, and only its own pods are listed", async () => {
  const { store, asked } = startStore(all);
  await store.read(new Set(["a/gpus"]));
  expect(store.current().get("a/gpus")).toEqual({
    kind: "found",
    pool: {
      members: [
        { host: "10.0.0.1", port: 8000 },
        { host: "10.0.0.1", port: 8001 },
      ],
      isHttp2: false,
      picker: { host: "10.0.9.9", port: 9002, failsOpen: false },
    },
  });
  expect(asked).toEqual([POOL, SERVICE, `${PODS}?app=vllm`]);
});

test("nothing is asked where no Model names a pool, nor again before it is due", async () => {
  const { store, asked, pass } = startStore(all);
  await store.read(new Set());
  expect(asked).toEqual([]);
  expect(store.dueInMs).toBe(Infinity);
  await store.read(new Set(["a/gpus"]));
  const before = asked.length;
  await store.read(new Set(["a/gpus"]));
  expect(asked).toHaveLength(before);
  pass(store.dueInMs);
  await store.read(new Set(["a/gpus"]));
  expect(asked.slice(before)).toEqual([POOL, SERVICE]);
  await store.read(new Set());
  expect(store.current().size).toBe(0);
});

test.for([
  [{ ...all, [POOL]: 404 }, "PoolNotFound", "the cluster has no Gateway API Inference Extension"],
  [{ [SERVICE]: all[SERVICE] }, "PoolNotFound", "does not exist"],
  [{ ...all, [POOL]: 403 }, "PoolForbidden", "operator.backends.inferencePools.enabled"],
  [{ [POOL]: all[POOL] }, "PoolNotFound", "Service epp, that does not exist"],
  [{ ...all, [SERVICE]: 403 }, "PoolForbidden", "operator.backends.inferencePools.enabled"],
  [{ ...all, [SERVICE]: { spec: { clusterIP: "None" } } }, "PoolInvalid", "without a cluster IP"],
] as const)("what is missing is said: %#", async ([answers, reason, words]) => {
  const { store } = startStore(answers);
  await store.read(new Set(["a/gpus"]));
  expect(store.current().get("a/gpus")).toEqual({ kind: "missing", reason, message: expect.stringContaining(words) });
});

test("an API server that does not answer changes nothing", async () => {
  const answers: Record<string, object | number> = { ...all };
  const { store, pass, unreadable } = startStore(answers);
  await store.read(new Set(["a/gpus"]));
  answers[POOL] = 500;
  pass(10_000);
  await store.read(new Set(["a/gpus"]));
  expect([store.current().get("a/gpus")?.kind, unreadable]).toEqual(["found", ["a/gpus"]]);
});

test("one pool that cannot be read keeps neither the others nor, for long, the Models from being read (S57)", async () => {
  const answers: Record<string, object | number> = { ...all, [POOL.replace("gpus", "broken")]: 500 };
  const { store, pass, unreadable } = startStore(answers);
  const names = new Set(["a/broken", "a/gpus"]);
  await expect(store.read(names)).rejects.toThrow("500");
  expect([...store.current().keys()]).toEqual(["a/gpus"]);
  pass(20_000);
  await store.read(names);
  expect(store.current().get("a/broken")).toMatchObject({ kind: "missing", reason: "PoolUnreadable" });
  expect(unreadable).toEqual(["a/broken"]);
  answers[POOL.replace("gpus", "broken")] = { spec };
  pass(5_000);
  await store.read(names);
  expect(store.current().get("a/broken")?.kind).toBe("found");
});

test("while the pods of a changed selector cannot be listed, the earlier ones get the requests (S57)", async () => {
  const answers: Record<string, object | number> = { ...all };
  const { store, pass } = startStore(answers);
  await store.read(new Set(["a/gpus"]));
  answers[PODS] = 403;
  answers[POOL] = { spec: { ...spec, selector: { matchLabels: { app: "other" } } } };
  pass(10_000);
  const read = store.read(new Set(["a/gpus"]));
  expect(store.current().get("a/gpus")).toMatchObject({ pool: { members: [{ host: "10.0.0.1" }, { host: "10.0.0.1" }] } });
  await read;
  expect(store.current().get("a/gpus")).toMatchObject({ reason: "PoolForbidden" });
});

test("pods with one address are one member, and of a pod only what counts is kept", async () => {
  const items = ["p", "q"].map((name) => pod(name, { podIP: "10.0.0.1", conditions: ready, containerStatuses: [{}] }));
  const { store } = startStore({ ...all, [PODS]: { metadata: { resourceVersion: "1" }, items } });
  await store.read(new Set(["a/gpus"]));
  expect(store.current().get("a/gpus")).toMatchObject({ pool: { members: [{ port: 8000 }, { port: 8001 }] } });
  const kept = trimPod(pod("p", { podIP: "10.0.0.1", conditions: ready, containerStatuses: [{}] }, { labels: { app: "vllm" } }));
  expect([readyAddress(kept), JSON.stringify(kept)]).toEqual(["10.0.0.1", expect.not.stringMatching(/containerStatuses|labels/)]);
});
