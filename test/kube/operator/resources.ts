import { stringify } from "yaml";
import * as z from "zod";
import type { KubeApi } from "../../support/kube/api.ts";
import { TEAM } from "./install.ts";
import { WRITES } from "../../support/kube/writes.ts";

interface ModelFields {
  modelName?: string;
  url: string;
  spec?: object;
  /** More of its backend. */
  backend?: object;
}

export function model(name: string, { modelName = name, url, spec = {}, backend = {} }: ModelFields): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name, namespace: TEAM },
    spec: {
      modelName,
      pricing: { inputPerMillion: "1", outputPerMillion: "2" },
      backends: [{ name: "primary", protocol: "ChatCompletions", url, upstreamModel: "sim", ...backend }],
      ...spec,
    },
  };
}

export function apiKey(name: string, spec: object = {}): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "ApiKey",
    metadata: { name, namespace: TEAM },
    spec: { account: TEAM, ...spec },
  };
}

export function secret(name: string, values: Record<string, string>): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: TEAM }, stringData: values };
}

const conditionSchema = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string(),
  observedGeneration: z.int(),
});
export type ShownCondition = z.infer<typeof conditionSchema>;

/** Of any object, what tests look at. */
const shownSchema = z.looseObject({
  metadata: z.looseObject({
    uid: z.string(),
    creationTimestamp: z.string(),
    finalizers: z.array(z.string()).default([]),
    ownerReferences: z.unknown().optional(),
  }),
  status: z
    .looseObject({
      conditions: z.array(conditionSchema).default([]),
      keyId: z.string().default(""),
      observedRotation: z.int().optional(),
      previousKeyExpiresAt: z.string().optional(),
    })
    .prefault({}),
  data: z.record(z.string(), z.string()).default({}),
});

const eventsSchema = z.object({
  items: z.array(z.object({ type: z.string(), reason: z.string(), regarding: z.object({ name: z.string() }) })),
});

const COLLECTIONS = {
  model: { group: "apis/modelgateway.dev/v1alpha1", plural: "models" },
  apikey: { group: "apis/modelgateway.dev/v1alpha1", plural: "apikeys" },
  secret: { group: "api/v1", plural: "secrets" },
  event: { group: "apis/events.k8s.io/v1", plural: "events" },
} as const;

/** What an administrator does in a namespace. */
export function createTeam({ kubectl, read }: Pick<KubeApi, "kubectl" | "read">, namespace = TEAM) {
  const inTeam = (parameters: readonly string[], input?: string) =>
    kubectl([...parameters, "--namespace", namespace], input === undefined ? {} : { input });

  const addressOf = (kind: keyof typeof COLLECTIONS) =>
    `/${COLLECTIONS[kind].group}/namespaces/${namespace}/${COLLECTIONS[kind].plural}`;

  async function get(kind: Exclude<keyof typeof COLLECTIONS, "event">, name: string): Promise<z.infer<typeof shownSchema>> {
    return shownSchema.parse(await read(`${addressOf(kind)}/${name}`));
  }
  return {
    apply: (...objects: readonly object[]) =>
      inTeam(["apply", "--filename", "-"], objects.map((object) => stringify(object)).join("---\n")),
    patch: (kind: string, name: string, change: object) =>
      inTeam(["patch", kind, name, "--type", "merge", "--patch", JSON.stringify(change)]),
    remove: (kind: string, name: string) => inTeam(["delete", kind, name, "--timeout", "60s"]),
    get,
    run: inTeam,
    async conditions(kind: "model" | "apikey", name: string): Promise<Record<string, ShownCondition>> {
      const { status } = await get(kind, name);
      return Object.fromEntries(status.conditions.map((condition) => [condition.type, condition]));
    },
    /** A value of a Secret; undefined where it has none. */
    async value(name: string, key = "api-key"): Promise<string | undefined> {
      const encoded = (await get("secret", name)).data[key];
      return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
    },
    /** Who wrote it and when. */
    async writes(kind: string, name: string): Promise<string> {
      const writes = await inTeam(["get", kind, name, "--output", `jsonpath=${WRITES}`]);
      if (writes === "") throw new Error(`The API server names nobody who wrote ${kind} ${name}.`);
      return writes;
    },
    /** `Warning SecretNotFound` of the Events about it. */
    async events(name: string): Promise<string[]> {
      const { items } = eventsSchema.parse(await read(addressOf("event")));
      return items.filter(({ regarding }) => regarding.name === name).map(({ type, reason }) => `${type} ${reason}`);
    },
  };
}
export type Team = ReturnType<typeof createTeam>;
