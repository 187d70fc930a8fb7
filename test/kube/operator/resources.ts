import * as z from "zod";
import type { KubeApi } from "../../support/kube/api.ts";
import { TEAM } from "./install.ts";
import { ACTIVITY } from "../../support/kube/writes.ts";

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
  const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: TEAM }, data: Object.fromEntries(data) };
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
    managedFields: z.array(z.object({ manager: z.string(), time: z.string() })).default([]),
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

type Named = Exclude<keyof typeof COLLECTIONS, "event">;

/** Of an object, what says where it is made. */
export const appliedSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

/** What an administrator does in a namespace. */
export function createTeam({ kubectl, read, send }: Pick<KubeApi, "kubectl" | "read" | "send">, namespace = TEAM) {
  const inTeam = (parameters: readonly string[]) => kubectl([...parameters, "--namespace", namespace]);

  const addressOf = (kind: keyof typeof COLLECTIONS) =>
    `/${COLLECTIONS[kind].group}/namespaces/${namespace}/${COLLECTIONS[kind].plural}`;

  async function get(kind: Named, name: string): Promise<z.infer<typeof shownSchema>> {
    return shownSchema.parse(await read(`${addressOf(kind)}/${name}`));
  }
  return {
    /** As `kubectl apply --server-side` does. */
    async apply(...objects: readonly object[]): Promise<void> {
      for (const object of objects) {
        const { apiVersion, kind, metadata } = appliedSchema.parse(object);
        const group = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
        const resource = `/${group}/namespaces/${namespace}/${kind.toLowerCase()}s/${metadata.name}`;
        await send(`${resource}?fieldManager=kubectl&force=true&fieldValidation=Strict`, { how: "APPLY", content: object });
      }
    },
    /** As `kubectl patch --type merge` does. */
    async patch(kind: Named, name: string, change: object): Promise<void> {
      const resource = `${addressOf(kind)}/${name}?fieldManager=kubectl-patch&fieldValidation=Strict`;
      await send(resource, { how: "MERGE", content: change });
    },
    /** Returns once it is gone, finalizers and all. */
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
    async writes(kind: Named, name: string): Promise<string> {
      const { managedFields } = (await get(kind, name)).metadata;
      const writes = managedFields.filter(({ manager }) => manager !== ACTIVITY);
      if (writes.length === 0) throw new Error(`The API server names nobody who wrote ${kind} ${name}.`);
      return writes.map(({ manager, time }) => `${manager} ${time}`).join(" ");
    },
    /** `Warning SecretNotFound` of the Events about it. */
    async events(name: string): Promise<string[]> {
      const { items } = eventsSchema.parse(await read(addressOf("event")));
      return items.filter(({ regarding }) => regarding.name === name).map(({ type, reason }) => `${type} ${reason}`);
    },
  };
}
export type Team = ReturnType<typeof createTeam>;
