import path from "node:path";
import { stringify } from "yaml";
import { ROOT } from "../../charts/generate/outputs.ts";
import { SIMULATOR_PORT } from "../support/cluster/addresses.ts";
import { POSTGRES } from "../support/cluster/postgres.ts";
import type { Cluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";

export const MODEL = "modelx-v4-pro";
export const SIMULATOR_URL = `http://simulator.inference.svc:${SIMULATOR_PORT}/v1`;
const CHART = path.join(ROOT, "charts/model-gateway");
const READY_WITHIN = "180s";

/** What this node needs besides what docs/kubernetes.md says: it has few processors, and the model server is inside. */
export const SITE_VALUES = {
  gateway: {
    envoy: { resources: { requests: { cpu: "50m", memory: "64Mi" } } },
    extproc: { resources: { requests: { cpu: "100m", memory: "64Mi" } } },
  },
  operator: { backends: { allowNamespaces: ["inference"] }, resources: { requests: { cpu: "50m", memory: "64Mi" } } },
  dashboard: { resources: { requests: { cpu: "25m", memory: "64Mi" } } },
  migration: { resources: { requests: { cpu: "10m", memory: "64Mi" } } },
};

export interface ReleaseOptions {
  /** Of the release, and the beginning of its namespaces' names. */
  name: string;
  values?: object;
}

/** A release that serves one Model to one key. */
export interface Release {
  readonly name: string;
  readonly namespace: string;
  /** Of the objects that the chart makes. */
  readonly fullname: string;
  readonly modelNamespace: string;
  readonly teamNamespace: string;
  /** Leads to its Service. */
  readonly url: string;
  readonly key: string;
  kubectl(words: readonly string[], input?: string): Promise<string>;
}

/** Makes an empty database. @returns its URL, as pods reach it. */
export async function createDatabase(cluster: Cluster, name: string): Promise<string> {
  const { namespace, user, password } = POSTGRES;
  await cluster.kubectl(["rollout", "status", "statefulset/postgres", "--namespace", namespace, "--timeout=120s"]);
  const psql = ["psql", "--host=127.0.0.1", `--username=${user}`, "--dbname=ledger", "--command", `CREATE DATABASE "${name}"`];
  const inPod = ["exec", "statefulset/postgres", "--namespace", namespace, "--", "env", `PGPASSWORD=${password}`, ...psql];
  await cluster.kubectl(inPod);
  return `postgresql://${user}:${password}@postgres.${namespace}.svc:5432/${name}`;
}

/** Installs the chart and waits until all pods are ready and the key is served. */
export async function installRelease(cluster: Cluster, { name, values = {} }: ReleaseOptions): Promise<Release> {
  const [namespace, modelNamespace, teamNamespace] = [name, `${name}-models`, `${name}-team`];
  const kubectl = (words: readonly string[], input?: string) => cluster.kubectl(["--namespace", namespace, ...words], input);
  const database = await createDatabase(cluster, name);
  const namespaces = [namespace, modelNamespace, teamNamespace].map((each) => namespaceObject(each, teamNamespace));
  await cluster.kubectl(["apply", "--filename", "-"], namespaces.map((each) => stringify(each)).join("---\n"));
  await kubectl(["create", "secret", "generic", "ledger-app", `--from-literal=uri=${database}`]);
  await installChart(cluster, { name, values });
  const fullname = `${name}-model-gateway`;
  await Promise.all([rolledOut(kubectl, fullname), serveModel(cluster, { kubectl, fullname, modelNamespace, teamNamespace })]);
  const url = await serviceUrl(cluster, { name, namespace });
  const key = await readKey(kubectl, teamNamespace);
  await eventually(() => expectAnswer(url, key), { withinMs: 60_000, everyMs: 250 });
  return { name, namespace, fullname, modelNamespace, teamNamespace, url, key, kubectl };
}

/** Runs Helm, in namespaces and with a database that are there. */
export async function installChart(cluster: Cluster, { name, values = {} }: ReleaseOptions): Promise<void> {
  const settings = {
    image: { repository: "images.example/model-gateway" },
    database: { existingSecret: "ledger-app" },
    publicBaseUrl: "https://gateway.example",
    watchNamespaces: [`${name}-models`, `${name}-team`],
    crds: { enabled: false },
  };
  const install = ["upgrade", "--install", name, CHART, "--namespace", name, "--values", "-"];
  await cluster.helm(install, mergedValues(SITE_VALUES, settings, values));
}

/** Leads to the Service that is there now. */
export async function serviceUrl(cluster: Cluster, { name, namespace }: Pick<Release, "name" | "namespace">): Promise<string> {
  const get = ["get", "service", `${name}-model-gateway`, "--namespace", namespace, "--output", "jsonpath={.spec.clusterIP}"];
  return await cluster.forward(await cluster.kubectl(get), 80);
}

type Kubectl = Release["kubectl"];

/** Every container of the release is ready, and the autoscaler has made the second gateway pod, which comes seconds later. */
export async function rolledOut(kubectl: Kubectl, fullname: string): Promise<void> {
  const both = ["wait", `statefulset/${fullname}`, "--for=jsonpath={.status.readyReplicas}=2", `--timeout=${READY_WITHIN}`];
  await kubectl(both);
  const workloads = [`statefulset/${fullname}`, `deployment/${fullname}-operator`, `deployment/${fullname}-dashboard`];
  await Promise.all(workloads.map((each) => kubectl(["rollout", "status", each, `--timeout=${READY_WITHIN}`])));
}

async function serveModel(
  cluster: Cluster,
  {
    kubectl,
    fullname,
    modelNamespace,
    teamNamespace,
  }: Pick<Release, "kubectl" | "fullname" | "modelNamespace" | "teamNamespace">,
): Promise<void> {
  await kubectl(["rollout", "status", `deployment/${fullname}-operator`, `--timeout=${READY_WITHIN}`]);
  const account = ["team", "--name", "Team", "--grant-usd", "20", "--reference", "first credit"];
  await kubectl(["exec", `deployment/${fullname}-operator`, "--", "node", "ledger/account-command/main.ts", ...account]);
  const secret = ["create", "secret", "generic", "my-provider", "--from-literal=api-key=provider-key"];
  await cluster.kubectl([...secret, "--namespace", modelNamespace]);
  const objects = [modelObject(modelNamespace), apiKeyObject(teamNamespace)];
  await cluster.kubectl(["apply", "--filename", "-"], objects.map((each) => stringify(each)).join("---\n"));
}

async function readKey(kubectl: Kubectl, teamNamespace: string): Promise<string> {
  const words = ["get", "secret", "my-key", "--namespace", teamNamespace, "--output", "jsonpath={.data.api-key}"];
  const encoded = await eventually(() => kubectl(words), { withinMs: 60_000, everyMs: 250 });
  return Buffer.from(encoded, "base64").toString();
}

async function expectAnswer(url: string, key: string): Promise<void> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Say hello." }] }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
}

function namespaceObject(name: string, teamNamespace: string): object {
  const labels = {
    "pod-security.kubernetes.io/enforce": "restricted",
    ...(name === teamNamespace ? { "modelgateway.dev/account": "team" } : {}),
  };
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}

function modelObject(namespace: string): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name: MODEL, namespace },
    spec: {
      modelName: MODEL,
      interfaces: ["ChatCompletions", "Messages"],
      limits: { contextWindow: 200_000, maxOutputTokens: 64_000 },
      pricing: { inputPerMillion: "3.00", cachedInputPerMillion: "0.30", outputPerMillion: "15.00" },
      backends: [
        {
          name: "primary",
          protocol: "ChatCompletions",
          url: SIMULATOR_URL,
          upstreamModel: "some-model",
          credentialRef: { name: "my-provider" },
        },
      ],
    },
  };
}

function apiKeyObject(namespace: string): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "ApiKey",
    metadata: { name: "my-key", namespace },
    spec: { account: "team", secretRef: { name: "my-key" } },
  };
}

/** Later ones win. */
export function mergedValues(...values: readonly object[]): string {
  return stringify(values.reduce(merge, {}));
}

function merge(a: object, b: object): object {
  const merged: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const old = merged[name];
    merged[name] = isGroup(old) && isGroup(value) ? merge(old, value) : value;
  }
  return merged;
}

function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
