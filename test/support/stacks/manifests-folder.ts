import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Protocol } from "../../../contract/protocol.ts";
import type { Profile, ProfileName } from "../../../contract/profile.ts";

export interface TestModel {
  name: string;
  upstream: Protocol;
  /** As a manifest gives it: with `/v1` for chat and Responses, without for messages. */
  url: string;
  upstreamModel?: string;
  maxOutputTokens?: number;
  /** All of them if absent; null leaves them to the product. */
  interfaces?: readonly string[] | null;
  storeHours?: number;
  streaming?: { keepAlive: string };
  profile?: Partial<Profile> & { preset?: ProfileName };
}

export const SIMULATOR_URLS = {
  chat: "http://chat.simulator.localhost/v1",
  messages: "http://messages.simulator.localhost",
  responses: "http://responses.simulator.localhost/v1",
} as const satisfies Record<Protocol, string>;

/** A folder with one manifest a model, for `startTestStack`. */
export async function makeManifests(models: readonly TestModel[]): Promise<{ directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-models-"));
  // JSON is YAML.
  const text = models.map((model) => `---\n${JSON.stringify(toResource(model))}\n`).join("");
  await writeFile(path.join(directory, "models.yaml"), text);
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}

const EVERY = ["ChatCompletions", "Messages", "Responses"] as const;

export const PROTOCOL_NAMES = { chat: "ChatCompletions", messages: "Messages", responses: "Responses" } as const satisfies Record<
  Protocol,
  string
>;

function toResource({
  name,
  upstream,
  url,
  upstreamModel,
  maxOutputTokens,
  interfaces = EVERY,
  storeHours,
  streaming,
  profile,
}: TestModel): object {
  const backend = {
    name: "primary",
    protocol: PROTOCOL_NAMES[upstream],
    url,
    upstreamModel,
    profile,
  };
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name },
    spec: {
      modelName: name,
      ...(interfaces === null ? {} : { interfaces }),
      ...(maxOutputTokens === undefined ? {} : { limits: { maxOutputTokens } }),
      ...(storeHours === undefined ? {} : { responses: { storeHours } }),
      streaming,
      pricing: { inputPerMillion: "1.00", cachedInputPerMillion: "0.10", cacheWritePerMillion: "1.25", outputPerMillion: "4.00" },
      backends: [backend],
    },
  };
}
