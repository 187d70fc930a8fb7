import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { WRITES } from "../support/kube/writes.ts";
import { failures, startLoad } from "./load.ts";
import {
  CHART,
  createDatabase,
  installChart,
  installRelease,
  MODEL,
  modelObject,
  nameDatabase,
  releaseValues,
  rolledOut,
  serviceUrl,
  type Release,
} from "./release.ts";
import { streamChat } from "./streams.ts";

const cluster = useCluster();
const NAME = "operation";
const WITHIN = { withinMs: 60_000, everyMs: 500 };
let release: Release;
beforeAll(async () => {
  release = await installRelease(cluster(), { name: NAME });
});

test("requests are served while all operator pods are deleted", async () => {
  const load = startLoad({ url: release.url, key: release.key, model: MODEL, perSecond: 10 });
  const operators = `app.kubernetes.io/instance=${NAME},app.kubernetes.io/component=operator`;
  await release.kubectl(["delete", "pod", "--selector", operators]);
  // The old ones are gone by now; their successors are not there at once.
  const ready = ["wait", "--for=condition=Ready", "pod", "--selector", operators, "--timeout=60s"];
  await eventually(() => release.kubectl(ready), WITHIN);
  expect(failures(await load.stop())).toStrictEqual([]);
});

test("evictions remove one gateway pod at a time, and no request fails", async () => {
  const load = startLoad({ url: release.url, key: release.key, model: MODEL, perSecond: 10 });
  const budget = ["wait", `poddisruptionbudget/${release.fullname}`, "--for=jsonpath={.status.disruptionsAllowed}=1"];
  await release.kubectl([...budget, "--timeout=60s"]);
  const evict = (pod: string) => {
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod, namespace: release.namespace } };
    const path = `/api/v1/namespaces/${release.namespace}/pods/${pod}/eviction`;
    return cluster().kubectl(["create", "--raw", path, "--filename", "-"], JSON.stringify(eviction));
  };
  await evict(`${release.fullname}-1`);
  await expect(evict(`${release.fullname}-0`)).rejects.toThrow("disruption budget");
  await release.kubectl(["wait", `pod/${release.fullname}-1`, "--for=delete", "--timeout=90s"]);
  await rolledOut(release.kubectl, release.fullname);
  expect(failures(await load.stop())).toStrictEqual([]);
});

test("a Model whose host cannot be resolved in the cluster reports that", async () => {
  const model = modelObject(release.modelNamespace, { name: "nowhere", url: "http://nowhere.inference.svc:8000/v1" });
  await cluster().kubectl(["apply", "--filename", "-"], stringify(model));
  const inModels = ["--namespace", release.modelNamespace];
  const reachable = "--for=jsonpath={.status.conditions[?(@.type=='Reachable')].reason}=HostNotFound";
  await cluster().kubectl(["wait", "model/nowhere", reachable, "--timeout=60s", ...inModels]);
  await eventually(async () => expect(await eventsOf("nowhere", release.modelNamespace)).toContain("HostNotFound"), WITHIN);
  await cluster().kubectl(["delete", "model/nowhere", ...inModels]);
});

async function eventsOf(name: string, namespace: string): Promise<string[]> {
  const words = ["get", "events", "--namespace", namespace, `--field-selector=involvedObject.name=${name}`];
  return (await cluster().kubectl([...words, "--output", "jsonpath={.items[*].reason}"])).split(" ");
}

test("of two releases of one name that watch the same namespaces, the first manages existing resources; the other writes nothing", async () => {
  const second = { ...release, namespace: `${NAME}-second` };
  await cluster().kubectl(["create", "namespace", second.namespace]);
  await nameDatabase(cluster(), second.namespace, await createDatabase(cluster(), second.namespace));
  const values = releaseValues(second, {
    database: { existingSecret: "ledger-app" },
    gateway: { replicas: 1, autoscaling: { enabled: false } },
    operator: { replicas: 1 },
    dashboard: { enabled: false },
  });
  const where = ["--namespace", second.namespace];
  await cluster().helm(["upgrade", "--install", NAME, CHART, ...where, "--values", "-"], values);
  for (const workload of [`deployment/${release.fullname}-operator`, `statefulset/${release.fullname}`])
    await cluster().kubectl(["rollout", "status", workload, "--timeout=180s", ...where]);

  const read = (kind: "model" | "apikey", output: string) =>
    cluster().kubectl([
      "get",
      `${kind}/${kind === "model" ? MODEL : "my-key"}`,
      "--namespace",
      kind === "model" ? release.modelNamespace : release.teamNamespace,
      `--output=jsonpath=${output}`,
    ]);
  const events = async () => [
    ...(await eventsOf(MODEL, release.modelNamespace)),
    ...(await eventsOf("my-key", release.teamNamespace)),
  ];
  await eventually(async () => {
    expect((await events()).filter((reason) => reason === "ManagedElsewhere")).toHaveLength(2);
  }, WITHIN);
  const writes = async () => [await read("model", WRITES), await read("apikey", WRITES)];
  const before = await writes();
  expect(before).not.toContain("");
  await sleep(10_000);
  expect(await writes()).toStrictEqual(before);
  for (const kind of ["model", "apikey"] as const)
    expect(await read(kind, "{.status.conditions[?(@.type=='Managed')].message}")).toBe(
      `by the operator with the Lease ${release.namespace}/${release.fullname}-operator`,
    );

  const ask = (url: string) => streamChat({ url, key: release.key, model: MODEL, prompt: "Say hello." });
  expect(await ask(await serviceUrl(cluster(), second))).toMatchObject({ status: 401 });
  await cluster().helm(["uninstall", NAME, ...where, "--wait"]);
  expect(await ask(release.url)).toMatchObject({ status: 200, isWhole: true });
  expect(await writes()).toStrictEqual(before);
});

test("a key works again after its release is uninstalled and reinstalled", async () => {
  await cluster().helm(["uninstall", NAME, "--namespace", release.namespace, "--wait"]);
  await installChart(cluster(), { name: NAME });
  await rolledOut(release.kubectl, release.fullname);
  const url = await serviceUrl(cluster(), release);
  const ask = () => streamChat({ url, key: release.key, model: MODEL, prompt: "Say hello." });
  await eventually(async () => expect(await ask()).toMatchObject({ status: 200, isWhole: true }), WITHIN);
});

test("a deleted watched namespace disappears, and its key with it", async () => {
  const url = await serviceUrl(cluster(), release);
  // Waits until it is gone.
  await cluster().kubectl(["delete", "namespace", release.teamNamespace, "--timeout=90s"]);
  const ask = () => streamChat({ url, key: release.key, model: MODEL, prompt: "Say hello." });
  await eventually(async () => expect(await ask()).toMatchObject({ status: 401 }), WITHIN);
});
