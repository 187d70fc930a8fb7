import path from "node:path";
import { stringify } from "yaml";
import { ROOT } from "../../charts/generate/outputs.ts";
import { SIMULATOR_PORT } from "../support/cluster/addresses.ts";
import { POSTGRES } from "../support/cluster/postgres.ts";
import type { Cluster } from "../support/cluster/access.ts";
import { eventually } from "../support/eventually.ts";

export const MODEL = "modelx-v4-pro";
export const SIMULATOR_URL = `http://simulator.inference.svc:${SIMULATOR_PORT}/v1`;
export const CHART = path.join(ROOT, "charts/model-gateway");
const READY_WITHIN = "180s";

/** What this cluster needs besides what docs/kubernetes.md says: the model server's address is inside it. */
export const SITE_VALUES = { operator: { backends: { allowNamespaces: ["inference"] } } };

export interface ReleaseOptions {
  /** Of the release, and the beginning of its namespaces' names. */
  name: string;
  values?: object;
}

/** Names of a release and its namespaces. */
export interface ReleaseNames {
  /** Of the release. */
  readonly name: string;
  readonly namespace: string;
  /** Of the objects that the chart makes. */
  readonly fullname: string;
  readonly modelNamespace: string;
  readonly teamNamespace: string;
}

/** A release that serves one Model to one key. */
export interface Release extends ReleaseNames {
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
  const names = releaseNames(name);
  await makeNamespaces(cluster, names);
  await nameDatabase(cluster, name, await createDatabase(cluster, name));
  await installChart(cluster, { name, values });
  return await startServing(cluster, names);
}

export function releaseNames(name: string): ReleaseNames {
  const fullname = `${name}-model-gateway`;
  return { name, namespace: name, fullname, modelNamespace: `${name}-models`, teamNamespace: `${name}-team` };
}

export async function makeNamespaces(cluster: Cluster, names: ReleaseNames): Promise<void> {
  const { namespace, modelNamespace, teamNamespace } = names;
  const namespaces = [namespace, modelNamespace, teamNamespace].map((each) => namespaceObject(each, teamNamespace));
  await cluster.kubectl(["apply", "--filename", "-"], namespaces.map((each) => stringify(each)).join("---\n"));
}

/** Makes the Secret that the chart is told of. */
export async function nameDatabase(cluster: Cluster, namespace: string, url: string): Promise<void> {
  const secret = ["create", "secret", "generic", "ledger-app", `--from-literal=uri=${url}`];
  await cluster.kubectl([...secret, "--namespace", namespace]);
}

/** Runs Helm, in namespaces and with a database that are there. */
export async function installChart(cluster: Cluster, { name, values = {} }: ReleaseOptions): Promise<void> {
  const install = ["upgrade", "--install", name, CHART, "--namespace", name, "--values", "-"];
  await cluster.helm(install, releaseValues(releaseNames(name), { database: { existingSecret: "ledger-app" } }, values));
}

/** What every release here is told, and more. */
export function releaseValues({ modelNamespace, teamNamespace }: ReleaseNames, ...more: readonly object[]): string {
  const settings = {
    image: { repository: "images.example/model-gateway" },
    publicBaseUrl: "https://gateway.example",
    watchNamespaces: [modelNamespace, teamNamespace],
    crds: { enabled: false },
  };
  return mergedValues(SITE_VALUES, settings, ...more);
}

/** Makes an account, a Model and an ApiKey for a release, and waits until all pods are ready and the key is served. */
export async function startServing(cluster: Cluster, names: ReleaseNames): Promise<Release> {
  const kubectl = (words: readonly string[], input?: string) =>
    cluster.kubectl(["--namespace", names.namespace, ...words], input);
  await Promise.all([rolledOut(kubectl, names.fullname), serveModel(cluster, { ...names, kubectl })]);
  const url = await serviceUrl(cluster, names);
  const key = await readKey(kubectl, names.teamNamespace);
  await eventually(() => expectAnswer(url, key), { withinMs: 60_000, everyMs: 250 });
  return { ...names, url, key, kubectl };
}

/** Leads to the Service that is there now. */
export async function serviceUrl(
  cluster: Cluster,
  { fullname, namespace }: Pick<ReleaseNames, "fullname" | "namespace">,
): Promise<string> {
  const get = ["get", "service", fullname, "--namespace", namespace, "--output", "jsonpath={.spec.clusterIP}"];
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
  const grant = ["exec", `deployment/${fullname}-operator`, "--", "node", "dist/ledger-account-command.mjs", ...account];
  // A trial's Postgres starts beside the operator.
  await eventually(() => kubectl(grant), { withinMs: 120_000, everyMs: 1_000 });
  const secret = ["create", "secret", "generic", "my-provider", "--from-literal=api-key=provider-key"];
  await cluster.kubectl([...secret, "--namespace", modelNamespace]);
  const objects = [modelObject(modelNamespace), apiKeyObject(teamNamespace)];
  await cluster.kubectl(["apply", "--filename", "-"], objects.map((each) => stringify(each)).join("---\n"));
}

/** Waits for the Secret of an ApiKey. @returns the key. */
export async function readKey(kubectl: Kubectl, teamNamespace: string, name = "my-key"): Promise<string> {
  const words = ["get", "secret", name, "--namespace", teamNamespace, "--output", "jsonpath={.data.api-key}"];
  const encoded = await eventually(() => kubectl(words), { withinMs: 60_000, everyMs: 250 });
  return Buffer.from(encoded, "base64").toString();
}

export async function expectAnswer(url: string, key: string): Promise<void> {
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

export function modelObject(namespace: string, { name = MODEL, url = SIMULATOR_URL } = {}): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name, namespace },
    spec: {
      modelName: name,
      interfaces: ["ChatCompletions", "Messages"],
      limits: { contextWindow: 200_000, maxOutputTokens: 64_000 },
      pricing: { inputPerMillion: "3.00", cachedInputPerMillion: "0.30", outputPerMillion: "15.00" },
      backends: [
        {
          name: "primary",
          protocol: "ChatCompletions",
          url,
          upstreamModel: "some-model",
          credentialRef: { name: "my-provider" },
        },
      ],
    },
  };
}

export function apiKeyObject(namespace: string, name = "my-key"): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "ApiKey",
    metadata: { name, namespace },
    spec: { account: "team", secretRef: { name } },
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
