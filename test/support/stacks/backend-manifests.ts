import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { PROTOCOL_NAMES } from "./manifests-folder.ts";
import type { Protocol } from "../../../contract/protocol.ts";
import type { FailingUpstream } from "../servers/failing-upstream.ts";

export interface TestBackend {
  name: string;
  protocol: Protocol;
  /** Without `/v1`, whatever the protocol. */
  url: string;
  upstreamModel?: string;
  platform?: "Bedrock" | "VertexAI";
  betas?: readonly string[];
  priority?: number;
  weight?: number;
  /** The provider's key. */
  credential?: string;
  /** In place of the protocol's. */
  credentialHeader?: string;
  apiVersion?: string;
  /** Accounts may enter their own key under this name. */
  bringYourOwnKey?: { provider: string };
  /** There is no Secret with the credential. */
  lacksSecret?: boolean;
  /** Signs requests. */
  aws?: {
    region: string;
    service?: string;
    /** In a Secret of its own; without it, the machine's identity signs. */
    keys?: Readonly<Record<string, string>>;
  };
  /** Fetches tokens with the secret. */
  oauth?: { tokenUrl: string; clientId: string; scopes?: readonly string[]; secret: string };
  /** Gets tokens from the metadata server. */
  google?: object;
  /** PEM of the authority of an https server. */
  ca?: string;
}

export interface TestModelOfMany {
  name: string;
  backends: readonly TestBackend[];
  /** As a manifest names them. */
  timeouts?: Partial<Record<"connect" | "firstByte" | "idle" | "whole", string>>;
  streaming?: { keepAlive: string; answerAfter?: string };
  /** As a manifest writes it. */
  guardrail?: object;
  responses?: { storeHours: number };
  maxOutputTokens?: number;
  contextWindow?: number;
  /** US dollars a million tokens. */
  pricing?: {
    inputPerMillion?: string;
    cachedInputPerMillion?: string;
    cacheWritePerMillion?: string;
    outputPerMillion?: string;
    searchPerThousand?: string;
    charactersPerMillion?: string;
    perMinute?: string;
    /** US dollars an image. */
    perImage?: string;
    images?: readonly { size?: string; quality?: string; perImage: string }[];
    batch?: { percent: number };
    providerKeyFee?: { perRequest?: string; percent?: string };
  };
  takesBatches?: boolean;
  /** Those of conversations if absent. */
  interfaces?: readonly string[];
}

/** A folder with Models of several backends and their Secrets, for `startTestStack`. */
export async function makeBackendManifests(models: readonly TestModelOfMany[]): Promise<BackendManifests> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-backends-"));
  async function write(changed: readonly TestModelOfMany[]): Promise<void> {
    const documents = changed.flatMap((model) => [toModel(model), ...model.backends.flatMap((each) => toSecret(model, each))]);
    // JSON is YAML.
    await writeFile(path.join(directory, "models.yaml"), documents.map((each) => `---\n${JSON.stringify(each)}\n`).join(""));
  }
  await write(models);
  return { directory, write, remove: () => rm(directory, { recursive: true, force: true }) };
}

interface BackendManifests {
  directory: string;
  /** Replaces them all. */
  write(models: readonly TestModelOfMany[]): Promise<void>;
  remove(): Promise<void>;
}

/** Models `one-server`, whose server answers, and `several-servers`, whose first one fails. */
export async function makeOneAndSeveral(upstream: FailingUpstream): ReturnType<typeof makeBackendManifests> {
  const backend = { name: "answers", protocol: "chat", url: upstream.url("answers", { kind: "answer" }) } as const;
  const failing = { name: "fails", protocol: "chat", url: upstream.url("fails", { kind: "status", status: 500 }) } as const;
  return await makeBackendManifests([
    { name: "one-server", backends: [backend] },
    { name: "several-servers", backends: [failing, { ...backend, priority: 1 }] },
  ]);
}

const CONVERSATIONS = ["ChatCompletions", "Messages", "Responses"];

function toModel({ name, backends, pricing, interfaces = CONVERSATIONS, ...model }: TestModelOfMany): object {
  const { timeouts, streaming, guardrail, responses, maxOutputTokens, contextWindow, takesBatches } = model;
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name },
    spec: {
      modelName: name,
      interfaces,
      pricing: pricing ?? { inputPerMillion: "1.00", outputPerMillion: "4.00" },
      ...(timeouts === undefined ? {} : { timeouts }),
      ...(streaming === undefined ? {} : { streaming }),
      // JSON leaves out what is undefined.
      guardrail,
      responses,
      batch: takesBatches === true ? { enabled: true } : undefined,
      limits: { maxOutputTokens, contextWindow },
      backends: backends.map(
        ({
          name: backend,
          protocol,
          url,
          priority = 0,
          weight = 1,
          credential,
          ca,
          aws,
          oauth,
          google,
          lacksSecret: _lacksSecret,
          ...others
        }) => ({
          name: backend,
          protocol: PROTOCOL_NAMES[protocol],
          url: protocol === "messages" || google !== undefined ? url : `${url}/v1`,
          ...others,
          priority,
          weight,
          ...(credential === undefined ? {} : { credentialRef: { name: secretName(name, backend) } }),
          ...(aws === undefined ? {} : { credential: { aws: toAws(aws, secretName(name, backend)) } }),
          ...(oauth === undefined ? {} : { credential: { oauth: toOauth(oauth, secretName(name, backend)) } }),
          ...(google === undefined ? {} : { credential: { google } }),
          ...(ca === undefined ? {} : { tls: { caSecretRef: { name: secretName(name, backend) } } }),
        }),
      ),
    },
  };
}

function toAws({ keys, ...aws }: NonNullable<TestBackend["aws"]>, secret: string): object {
  return keys === undefined ? aws : { ...aws, secretRef: { name: secret } };
}

function toOauth({ secret: _value, ...oauth }: NonNullable<TestBackend["oauth"]>, secret: string): object {
  return { ...oauth, secretRef: { name: secret } };
}

function toSecret({ name }: TestModelOfMany, { name: backend, credential, ca, aws, oauth, lacksSecret }: TestBackend): object[] {
  if (lacksSecret === true) return [];
  const stringData = { "api-key": credential, "ca.crt": ca, "client-secret": oauth?.secret, ...aws?.keys };
  if (Object.values(stringData).every((value) => value === undefined)) return [];
  const metadata = { name: secretName(name, backend) };
  return [{ apiVersion: "v1", kind: "Secret", metadata, stringData }];
}

function secretName(model: string, backend: string): string {
  return `${model}-${backend}`;
}
