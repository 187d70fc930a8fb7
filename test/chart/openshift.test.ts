import path from "node:path";
import { stringify } from "yaml";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { podsOf, type Pod } from "./harness-pods.ts";
import { CHART, NAMESPACE, parseObjects, RELEASE, render, type Values } from "./harness-render.ts";

/** No OpenShift: an API server with the rules of restricted-v2, and the group by which charts recognise one. */
const api = useKubeApi();
const TRIAL = { postgres: { enabled: true } };

beforeAll(async () => {
  await api().kubectl(["create", "namespace", NAMESPACE]);
  const withoutGroup = podsOf(await render(api(), TRIAL));
  expect(withoutGroup.map(({ spec }) => spec["securityContext"])).toContainEqual(expect.objectContaining({ runAsUser: 65532 }));
  await api().kubectl(["apply", "--filename", path.join(import.meta.dirname, "foreign/restricted-v2.yaml")]);
  await untilEstablished(api());
});

function create(pods: readonly Pod[]): Promise<string> {
  const input = pods.map(({ object }) => `---\n${stringify(object)}`).join("");
  return api().kubectl(["create", "--dry-run=server", "--namespace", NAMESPACE, "--filename", "-"], { input });
}

/** Pods of the chart as Helm renders it for this cluster, whose API it asks. */
async function pods(values: Values): Promise<Pod[]> {
  const parameters = ["template", RELEASE, CHART, "--validate", "--namespace", NAMESPACE, "--values", "-"];
  return podsOf(parseObjects(await api().helm(parameters, { input: stringify({ ...TRIAL, ...values }) })));
}

test("pods with the image's own user are refused", async () => {
  const fixed = await pods({ openshift: { enabled: false } });
  // A policy is in force a moment after it was made.
  await eventually(() => expect(create(fixed)).rejects.toThrow("runAsUser is outside of the namespace's range"), {
    withinMs: 30_000,
  });
});

test.for([
  { name: "said to be one", openshift: { enabled: true } },
  { name: "recognised by its API", openshift: {} },
])("every pod is admitted by restricted-v2 on an OpenShift that is $name", async ({ openshift }) => {
  const free = await pods({ openshift });
  expect((await create(free)).trim().split("\n")).toHaveLength(free.length);
  for (const { owner, spec } of free) expect(JSON.stringify(spec), owner).not.toMatch(/runAsUser|runAsGroup|fsGroup"/);
});
