import { afterAll, beforeAll, beforeEach } from "vitest";
import { borrowStack } from "../shared-stacks/borrow.ts";
import { makeBackendManifests, type TestModelOfMany } from "../stacks/backend-manifests.ts";
import type { TestProduct } from "../stacks/product.ts";
import { CLIENT_NAMES } from "./bedrock-clients.ts";
import { BEDROCK_KEYS, BEDROCK_REGION, startBedrockServer, type BedrockServer } from "./bedrock-server.ts";
import { CACHED_PRICING } from "./cached-usage.ts";
import { makeCompletion, makeCompletionStream } from "./completions.ts";
import { startRecordingUpstream, type RecordingUpstream } from "./recording-upstream.ts";

export const BEDROCK_ID = "eu.anthropic.claude-x-20270101-v1:0";
export const BEDROCK_ARN = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3d4e5f6";
const API_KEY = "bedrock-api-key-Zk3v9QmT7wLr2YbN";

interface BedrockModels {
  stack: TestProduct;
  /** Answers each request of a test completely unless the test wants something else. */
  bedrock: BedrockServer;
  /** A server of the chat protocol, which some Models have as their second backend. */
  spare: RecordingUpstream;
}

/** The product in front of a server that acts as Bedrock, for all tests of a file. */
export function useBedrockModels(): () => BedrockModels {
  let models: BedrockModels | undefined;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const bedrock = await startBedrockServer({ apiKey: API_KEY });
    stops.push(bedrock.stop);
    const spare = await startSpare();
    stops.push(spare.stop);
    const manifests = await makeBackendManifests(modelsOf(bedrock.url, `http://127.0.0.1:${spare.port}`));
    stops.push(manifests.remove);
    const stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
    stops.push(stack.stop);
    models = { stack, bedrock, spare };
  });
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  beforeEach(() => models?.bedrock.answerWith());
  return () => {
    if (models === undefined) throw new Error("The product is not running yet.");
    return models;
  };
}

function startSpare(): Promise<RecordingUpstream> {
  return startRecordingUpstream((_request, response, body) => {
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  });
}

function modelsOf(url: string, spareUrl: string): TestModelOfMany[] {
  const own = { name: "bedrock", protocol: "messages", platform: "Bedrock", url, upstreamModel: BEDROCK_ID } as const;
  const signed = { ...own, aws: { region: BEDROCK_REGION, keys: BEDROCK_KEYS } };
  const byArn = { ...signed, upstreamModel: BEDROCK_ARN };
  const wrong = { ...BEDROCK_KEYS, "secret-access-key": "wrongSecret/v9QmT7wLr2YbN+Zx81hPq" };
  const interfaces = ["ChatCompletions", "Messages", "Responses"];
  const common = { pricing: CACHED_PRICING, maxOutputTokens: 1_000, interfaces };
  const spare = { name: "spare", protocol: "chat", url: spareUrl, priority: 1 } as const;
  return [
    { ...common, name: "by-id", backends: [signed] },
    { ...common, name: "by-arn", backends: [byArn] },
    { ...common, name: "with-betas", backends: [{ ...signed, betas: ["fine-grained-tool-streaming-2025-05-14", "other-1"] }] },
    { ...common, name: "below-a-path", backends: [{ ...signed, url: `${url}/base%20path` }] },
    { ...common, name: "several", backends: [byArn, spare] },
    // One for each client: a throttled backend is skipped for a second.
    ...CLIENT_NAMES.map((_, index) => ({ ...common, name: `throttled-${index}`, backends: [signed, spare] })),
    { ...common, name: "by-key", backends: [{ ...own, credential: API_KEY, credentialHeader: "authorization" }] },
    { ...common, name: "refused", backends: [{ ...own, aws: { region: BEDROCK_REGION, keys: wrong } }] },
    { ...common, name: "early", backends: [signed], streaming: { keepAlive: "1s", answerAfter: "1s" } },
    { ...common, name: "plain", backends: [{ name: "plain", protocol: "messages", url }] },
  ];
}
