import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { stringify } from "yaml";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { CHART, NAME, NAMESPACE, RELEASE, type Values } from "./harness-render.ts";

const api = useKubeApi();
const TRIAL: Values = { postgres: { enabled: true } };

beforeAll(async () => {
  await api().kubectl(["create", "namespace", NAMESPACE]);
  await api().kubectl(["label", "namespace", NAMESPACE, "modelgateway.dev/account=team-a"]);
  await api().kubectl(["config", "set-context", "--current", "--namespace", NAMESPACE]);
});

const helm = (parameters: readonly string[], values?: Values) =>
  api().helm([...parameters, "--namespace", NAMESPACE, ...(values === undefined ? [] : ["--values", "-"])], {
    input: values === undefined ? "" : stringify(values),
  });
const get = (resource: string, output: string) => api().kubectl(["get", resource, "--output", output]);

/** The next version of the chart, whose Model has one more field. */
async function nextVersion(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-chart-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await cp(CHART, directory, { recursive: true });
  const edit = async (file: string, from: string | RegExp, to: string) => {
    const text = await readFile(path.join(directory, file), "utf8");
    expect(text).toMatch(from);
    await writeFile(path.join(directory, file), text.replace(from, to));
  };
  await edit("Chart.yaml", /^version: .*$/m, "version: 99.0.0");
  await edit("Chart.yaml", /^appVersion: .*$/m, 'appVersion: "99.0.0"');
  await edit("templates/crds/models.yaml", /^( *)modelName:\n/m, "$1novelty:\n$1  type: string\n$1modelName:\n");
  return directory;
}

test("install, upgrade, roll back, uninstall: custom resources, their definitions and Secrets remain", async () => {
  await helm(["install", RELEASE, CHART], TRIAL);
  await untilEstablished(api());
  const model = {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name: "m" },
    spec: {
      modelName: "m",
      interfaces: ["ChatCompletions"],
      pricing: { inputPerMillion: "1", outputPerMillion: "2" },
      backends: [{ name: "a", protocol: "ChatCompletions", url: "https://provider.example/v1" }],
    },
  };
  await api().kubectl(["apply", "--filename", "-"], { input: stringify(model) });
  const key = { apiVersion: "modelgateway.dev/v1alpha1", kind: "ApiKey", metadata: { name: "k" }, spec: { account: "team-a" } };
  await api().kubectl(["apply", "--filename", "-"], { input: stringify(key) });
  const uids = async () => [await get("model/m", "jsonpath={.metadata.uid}"), await get("apikey/k", "jsonpath={.metadata.uid}")];
  const secrets = async () =>
    Promise.all([`${NAME}-key-pepper`, `${NAME}-postgres`].map((name) => get(`secret/${name}`, "jsonpath={.data}")));
  const atFirst = { uids: await uids(), secrets: await secrets() };

  await helm(["upgrade", RELEASE, await nextVersion()], TRIAL);
  expect({ uids: await uids(), secrets: await secrets() }, "after the upgrade").toEqual(atFirst);
  const novelty = { ...model, spec: { ...model.spec, novelty: "x" } };
  await api().kubectl(["apply", "--validate=strict", "--filename", "-"], { input: stringify(novelty) });
  expect(await get("model/m", "jsonpath={.spec.novelty}"), "the definition is the new one").toBe("x");

  await helm(["rollback", RELEASE, "1"]);
  expect({ uids: await uids(), secrets: await secrets() }, "after the rollback").toEqual(atFirst);
  expect(await get(`statefulset/${NAME}`, "jsonpath={.spec.template.spec.containers[0].image}")).toBe("model-gateway:0.1.0");

  await helm(["uninstall", RELEASE]);
  expect({ uids: await uids(), secrets: await secrets() }, "after the uninstallation").toEqual(atFirst);
  const left = await api().kubectl(["get", "deployments,services,networkpolicies,statefulsets,roles", "--output", "name"]);
  expect(left.trim()).toBe("");

  await helm(["install", RELEASE, CHART], TRIAL);
  expect({ uids: await uids(), secrets: await secrets() }, "installed again").toEqual(atFirst);
});

test("a renderer without access to the cluster gets an error instead of a new pepper", async () => {
  // As tools do that render with `helm template` and apply the result.
  const rendered = await api().helm(
    ["template", RELEASE, CHART, "--values", "-", "--show-only", "templates/keys/secret-pepper.yaml"],
    {
      input: stringify(TRIAL),
    },
  );
  await expect(api().kubectl(["apply", "--filename", "-"], { input: rendered })).rejects.toThrow(
    "field is immutable when `immutable` is set",
  );
});

test("an upgrade to the same chart and values changes no pods", async () => {
  const templates = async () =>
    Promise.all([
      get(`statefulset/${NAME}`, "jsonpath={.metadata.generation}"),
      get(`deployment/${NAME}-operator`, "jsonpath={.metadata.generation}"),
    ]);
  const before = await templates();
  await helm(["upgrade", RELEASE, CHART], TRIAL);
  expect(await templates()).toEqual(before);
});

test("an upgrade from an earlier version leaves the trial's Postgres running, so new gateway pods get their credit from it", async () => {
  const EARLIER = path.join(CHART, "../../test/cluster/earlier/chart.tgz");
  const strategy = () => get(`statefulset/${NAME}-postgres`, "jsonpath={.spec.updateStrategy}");
  await helm(["uninstall", RELEASE]);
  await helm(["install", RELEASE, EARLIER], TRIAL);
  expect(await strategy()).toContain("RollingUpdate");
  await helm(["upgrade", RELEASE, CHART], TRIAL);
  expect(JSON.parse(await strategy())).toStrictEqual({ type: "OnDelete" });
});
