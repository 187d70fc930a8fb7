import { describe, expect, test } from "vitest";
import { parseModelResource } from "../../../../operator/model/resource.ts";

type Change = (document: ReturnType<typeof minimal>) => unknown;

function minimal() {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name: "modelx" },
    spec: {
      modelName: "modelx",
      pricing: { inputPerMillion: "3", outputPerMillion: "15" },
      backends: [{ name: "a", protocol: "ChatCompletions", url: "https://models.example.com/v1" }],
    },
  };
}

function problemsOf(document: unknown): string[] {
  const parsed = parseModelResource(document);
  return parsed.kind === "bad" ? parsed.problems : [];
}

/** The document with one part of `spec` replaced. */
const spec =
  (part: object): Change =>
  (document) => ({ ...document, spec: { ...document.spec, ...part } });
const backend = (part: object): Change => spec({ backends: [{ ...minimal().spec.backends[0], ...part }] });
const pricing = (part: object): Change => spec({ pricing: { ...minimal().spec.pricing, ...part } });

describe("a Model is rejected with the field and the remedy", () => {
  test.for<[name: string, change: Change, problem: string]>([
    ["no document", () => null, "the document must be a Model"],
    ["another version", (document) => ({ ...document, apiVersion: "v2" }), "apiVersion must be modelgateway.dev/v1alpha1"],
    ["no name", (document) => ({ ...document, metadata: {} }), "metadata.name is required"],
    [
      "a bad resource name",
      (document) => ({ ...document, metadata: { name: "Model X" } }),
      "metadata.name must be lower-case letters, digits, - and ., such as modelx-chat",
    ],
    ...["anthropic-version", "anthropic-beta", "msgapi-version", "traceparent"].map((name): [string, Change, string] => [
      `the key in ${name}, which the gateway sets`,
      backend({ credentialRef: { name: "provider" }, credentialHeader: name }),
      "spec.backends[0].credentialHeader must be a header for credentials; this one has another use",
    ]),
    [
      "a pool beside a url",
      backend({ pool: { name: "gpus" } }),
      "spec.backends[0].pool must not accompany url; remove one of them",
    ],
    [
      "tls of a pool",
      backend({ url: undefined, pool: { name: "gpus" }, tls: { serverName: "x" } }),
      "spec.backends[0].tls needs an https url",
    ],
    [
      "a pool with a credential of a cloud",
      backend({ url: undefined, pool: { name: "gpus" }, credential: { aws: { region: "us-east-1" } } }),
      "spec.backends[0].credential must not accompany pool",
    ],
    ["a platform of another protocol", backend({ platform: "Bedrock" }), "spec.backends[0].platform needs protocol Messages"],
    ["betas of another protocol", backend({ betas: [] }), "spec.backends[0].betas needs protocol Messages"],
    [
      "betas as one text",
      backend({ protocol: "Messages", url: "https://a", betas: ["a-1, b-2"] }),
      "spec.backends[0].betas[0] must be the name of a beta, such as interleaved-thinking-2025-05-14",
    ],
    [
      "an unknown platform",
      backend({ protocol: "Messages", url: "https://a", platform: "bedrock" }),
      "spec.backends[0].platform must be Bedrock or VertexAI",
    ],
    [
      "the whole address of a model on Bedrock",
      backend({ protocol: "Messages", platform: "Bedrock", url: "https://a.example/model/m/invoke" }),
      "spec.backends[0].url must be the base URL only; the gateway appends the rest",
    ],
    [
      "the whole address of a model on Vertex AI",
      backend({
        protocol: "Messages",
        platform: "VertexAI",
        url: "https://a.example/v1/publishers/anthropic/models/m:rawPredict",
      }),
      "spec.backends[0].url must be the base URL only; the gateway appends the rest",
    ],
    ["a misspelt field", spec({ modelname: "x" }), "spec.modelname is not a known field; remove it or correct its spelling"],
    ["no model name", spec({ modelName: undefined }), "spec.modelName is required"],
    [
      "a space in the model name",
      spec({ modelName: "model x" }),
      "spec.modelName must begin with a letter or digit and contain only letters, digits and . _ : / -",
    ],
    ["an alias that repeats the name", spec({ aliases: ["modelx"] }), "spec.aliases must not repeat modelName"],
    ["an alias twice", spec({ aliases: ["a", "a"] }), "spec.aliases must not name the same alias twice"],
    ["an empty display name", spec({ displayName: "" }), "spec.displayName must not be empty"],
    ["a long description", spec({ description: "x".repeat(1025) }), "spec.description must be at most 1024 characters"],
    [
      "an unknown capability",
      spec({ capabilities: ["Vision"] }),
      "spec.capabilities[0] must be Tools, Images, Files, Reasoning or StructuredOutputs",
    ],
    ["a capability twice", spec({ capabilities: ["Tools", "Tools"] }), "spec.capabilities must not name a capability twice"],
    [
      "no interface",
      spec({ interfaces: [] }),
      "spec.interfaces must name at least one of ChatCompletions, Messages, Responses, Embeddings, Rerank, ImageGeneration, Speech and Transcription",
    ],
    [
      "an unknown interface",
      spec({ interfaces: ["Completions"] }),
      "spec.interfaces[0] must be ChatCompletions, Messages, Responses, Embeddings, Rerank, ImageGeneration, Speech or Transcription",
    ],
    [
      "embeddings beside another interface",
      spec({ interfaces: ["Embeddings", "Messages"], pricing: { inputPerMillion: "1" } }),
      "spec.interfaces must name Embeddings, Rerank, ImageGeneration, Speech or Transcription alone; make another Model for the other interfaces",
    ],
    [
      "embeddings with an output price",
      spec({ interfaces: ["Embeddings"] }),
      "spec.pricing must have no prices of caches and output for Embeddings, Rerank and Speech: their answers have no tokens",
    ],
    [
      "embeddings of a server of another protocol",
      spec({
        interfaces: ["Embeddings"],
        pricing: { inputPerMillion: "1" },
        backends: [{ name: "primary", protocol: "Messages", url: "https://x" }],
      }),
      "spec.backends must all have protocol ChatCompletions for Embeddings, Rerank, ImageGeneration, Speech and Transcription: Messages has none of them, and servers of Responses that have them take ChatCompletions",
    ],
    [
      "searches of another interface",
      pricing({ searchPerThousand: "2" }),
      "spec.pricing.searchPerThousand must be absent, except for Rerank: other interfaces have no searches",
    ],
    ["rerank without a price", spec({ interfaces: ["Rerank"], pricing: {} }), "spec.pricing.inputPerMillion is required"],
    [
      "a scheduled price that would make searches free",
      spec({
        interfaces: ["Rerank"],
        pricing: { searchPerThousand: "2", schedule: [{ from: "2027-01-31T00:00:00Z", inputPerMillion: "1" }] },
      }),
      "spec.pricing.schedule must have inputPerMillion, searchPerThousand, charactersPerMillion, perMinute and, for Transcription, outputPerMillion in each entry if pricing has them, and only then",
    ],
    [
      "characters of another interface",
      pricing({ charactersPerMillion: "15" }),
      "spec.pricing.charactersPerMillion must be absent, except for Speech: other interfaces do not count characters",
    ],
    [
      "minutes of another interface",
      pricing({ perMinute: "0.006" }),
      "spec.pricing.perMinute must be absent, except for Transcription: other interfaces have no minutes of audio",
    ],
    [
      "transcriptions without a price",
      spec({ interfaces: ["Transcription"], pricing: {} }),
      "spec.pricing.inputPerMillion is required",
    ],
    [
      "transcriptions with a price of caches",
      spec({ interfaces: ["Transcription"], pricing: { perMinute: "0.006", cachedInputPerMillion: "1" } }),
      "spec.pricing must have no prices of caches for ImageGeneration and Transcription: nothing of a request is remembered for the next one",
    ],
    [
      "a scheduled price that would make the tokens of a transcription free",
      spec({
        interfaces: ["Transcription"],
        pricing: {
          inputPerMillion: "6",
          outputPerMillion: "10",
          schedule: [{ from: "2027-01-31T00:00:00Z", inputPerMillion: "6" }],
        },
      }),
      "spec.pricing.schedule must have inputPerMillion, searchPerThousand, charactersPerMillion, perMinute and, for Transcription, outputPerMillion in each entry if pricing has them, and only then",
    ],
    ["speech without a price", spec({ interfaces: ["Speech"], pricing: {} }), "spec.pricing.inputPerMillion is required"],
    [
      "speech with a price of output",
      spec({ interfaces: ["Speech"], pricing: { charactersPerMillion: "15", outputPerMillion: "12" } }),
      "spec.pricing must have no prices of caches and output for Embeddings, Rerank and Speech: their answers have no tokens",
    ],
    [
      "a scheduled price that would make characters free",
      spec({
        interfaces: ["Speech"],
        pricing: {
          charactersPerMillion: "15",
          inputPerMillion: "1",
          schedule: [{ from: "2027-01-31T00:00:00Z", inputPerMillion: "1" }],
        },
      }),
      "spec.pricing.schedule must have inputPerMillion, searchPerThousand, charactersPerMillion, perMinute and, for Transcription, outputPerMillion in each entry if pricing has them, and only then",
    ],
    [
      "a batch price that is free",
      pricing({ batch: { percent: 0 } }),
      "spec.pricing.batch.percent must be a whole number from 1 to 100",
    ],
    ["a batch price of nothing", pricing({ batch: {} }), "spec.pricing.batch must have either percent or inputPerMillion"],
    [
      "a batch price in two forms",
      pricing({ batch: { percent: 50, outputPerMillion: "1" } }),
      "spec.pricing.batch must have no other prices beside percent",
    ],
    [
      "a batch price without output",
      pricing({ batch: { inputPerMillion: "1" } }),
      "spec.pricing.batch must have outputPerMillion beside inputPerMillion",
    ],
    [
      "a batch price of output for embeddings",
      spec({
        interfaces: ["Embeddings"],
        pricing: { inputPerMillion: "1", batch: { inputPerMillion: "1", outputPerMillion: "1" } },
      }),
      "spec.pricing.batch must have no prices of caches and output for Embeddings: their answers have no tokens",
    ],
    [
      "batches of searches",
      spec({ interfaces: ["Rerank"], pricing: { searchPerThousand: "2" }, batch: { enabled: true } }),
      "spec.batch.enabled must be false for Rerank, ImageGeneration, Speech and Transcription: batches support conversations and embeddings only",
    ],
    [
      "a cost of searches in words",
      spec({ interfaces: ["Rerank"], pricing: { searchPerThousand: "2" }, cost: { searchPerThousand: "two" } }),
      'spec.cost.searchPerThousand must be a decimal string such as "0.30"',
    ],
    [
      "a scheduled price without output",
      pricing({ schedule: [{ from: "2027-01-31T00:00:00Z", inputPerMillion: "1" }] }),
      "spec.pricing.schedule must have outputPerMillion in each entry",
    ],
    [
      "more output than context",
      spec({ limits: { contextWindow: 10, maxOutputTokens: 11 } }),
      "spec.limits.maxOutputTokens must not exceed contextWindow",
    ],
    ["half a token", spec({ limits: { contextWindow: 1.5 } }), "spec.limits.contextWindow must be a whole number above 0"],
    [
      "a price as a number",
      pricing({ inputPerMillion: 0.3 }),
      'spec.pricing.inputPerMillion must be a decimal string such as "0.30"',
    ],
    [
      "a price in scientific notation",
      pricing({ inputPerMillion: "3e2" }),
      'spec.pricing.inputPerMillion must be a decimal string such as "0.30"',
    ],
    [
      "a negative price",
      pricing({ outputPerMillion: "-1" }),
      'spec.pricing.outputPerMillion must be a decimal string such as "0.30"',
    ],
    [
      "a price below the unit of money",
      pricing({ cachedInputPerMillion: "0.0000001" }),
      "spec.pricing.cachedInputPerMillion must have at most 6 decimal places",
    ],
    ["no output price", pricing({ outputPerMillion: undefined }), "spec.pricing.outputPerMillion is required"],
    ["a cost without an output price", spec({ cost: { inputPerMillion: "1" } }), "spec.cost.outputPerMillion is required"],
    ["another currency", pricing({ currency: "EUR" }), "spec.pricing.currency must be USD"],
    [
      "a sunset before the deprecation",
      spec({ deprecation: { deprecatedTime: "2027-02-01T00:00:00Z", sunsetTime: "2027-01-01T00:00:00Z" } }),
      "spec.deprecation.sunsetTime must not precede deprecatedTime",
    ],
    [
      "a day that is no time",
      spec({ deprecation: { sunsetTime: "soon" } }),
      'spec.deprecation.sunsetTime must be a time such as "2027-01-31T00:00:00Z"',
    ],
    ["no backend", spec({ backends: [] }), "spec.backends must have at least one entry"],
    ["backends without weight", backend({ weight: 0 }), "spec.backends must have at least one entry with a weight above 0"],
    [
      "one backend name twice",
      spec({ backends: [minimal().spec.backends[0], minimal().spec.backends[0]] }),
      "spec.backends must not use a name twice",
    ],
    [
      "an unknown protocol",
      backend({ protocol: "OpenAI" }),
      "spec.backends[0].protocol must be ChatCompletions, Messages or Responses: the protocol of the server at url",
    ],
    [
      "a relative url",
      backend({ url: "/v1" }),
      "spec.backends[0].url must be an absolute http or https URL such as https://models.example.com/v1",
    ],
    [
      "another scheme",
      backend({ url: "ftp://x/v1" }),
      "spec.backends[0].url must be an absolute http or https URL such as https://models.example.com/v1",
    ],
    [
      "a query",
      backend({ url: "https://x/v1?a=b" }),
      "spec.backends[0].url must not contain a query or a fragment; if the server requires api-version, set apiVersion",
    ],
    [
      "a credential in the url",
      backend({ url: "https://u:p@x/v1" }),
      "spec.backends[0].url must not contain a credential; put it in a Secret and name that Secret in credentialRef",
    ],
    [
      "the whole path",
      backend({ url: "https://x/v1/chat/completions" }),
      "spec.backends[0].url must be the base URL only; the gateway appends the rest",
    ],
    [
      "/v1 for messages",
      backend({ protocol: "Messages", url: "https://x/v1/" }),
      "spec.backends[0].url must end before /v1 for protocol Messages; the gateway appends /v1/messages",
    ],
    ["tls over plain http", backend({ url: "http://x/v1", tls: { serverName: "x" } }), "spec.backends[0].tls needs an https url"],
    ["a credential without a name", backend({ credentialRef: {} }), "spec.backends[0].credentialRef.name is required"],
    ["a weight in words", backend({ weight: "much" }), "spec.backends[0].weight must be a whole number from 0 to 1000000"],
    [
      "a timeout without a unit",
      backend({ timeouts: { connect: "5" } }),
      'spec.backends[0].timeouts.connect must be a duration such as "30s" or "1m30s"',
    ],
    [
      "a timeout out of bounds",
      backend({ timeouts: { connect: "2m" } }),
      "spec.backends[0].timeouts.connect must be from 100ms to 60s",
    ],
    [
      "an unknown preset",
      backend({ profile: { preset: "best" } }),
      "spec.backends[0].profile.preset must be one of generic, vllm, sglang, deepseek, openai, anthropic",
    ],
    ["a flag with another type", backend({ profile: { files: "yes" } }), "spec.backends[0].profile.files must be boolean"],
  ])("%s", ([, change, problem]) => {
    expect(problemsOf(change(minimal()))).toEqual([problem]);
  });

  test("all problems are reported at once", () => {
    const document = { ...minimal(), spec: { pricing: {}, backends: [{}] } };
    expect(problemsOf(document)).toEqual([
      "spec.modelName is required",
      "spec.backends[0].name is required",
      "spec.backends[0].protocol is required",
      "spec.backends[0].url is required, or pool in its place",
      "spec.pricing.inputPerMillion is required",
      "spec.pricing.outputPerMillion is required",
    ]);
  });
});

test("missing fields have their defaults, prices are exact, durations are milliseconds", () => {
  const document = spec({
    pricing: { inputPerMillion: "0.30", outputPerMillion: "1.000001" },
    cost: { inputPerMillion: "0.18", outputPerMillion: "0" },
    backends: [{ ...minimal().spec.backends[0], credentialRef: { name: "provider" }, timeouts: { connect: "1s500ms" } }],
  })(minimal());
  const parsed = parseModelResource(document);
  expect(parsed).toMatchObject({
    kind: "good",
    resource: {
      metadata: { namespace: "default" },
      spec: {
        aliases: [],
        suspended: false,
        pricing: { currency: "USD", inputPerMillion: 300_000n, outputPerMillion: 1_000_001n },
        cost: { inputPerMillion: 180_000n, outputPerMillion: 0n },
        backends: [{ weight: 1, priority: 0, credentialRef: { name: "provider", key: "api-key" }, timeouts: { connect: 1_500 } }],
      },
    },
  });
});

test("fields that Kubernetes adds to a resource are accepted", () => {
  const document = {
    ...minimal(),
    metadata: { name: "modelx", uid: "1", generation: 3, managedFields: [{}] },
    status: { any: "thing" },
  };
  expect(problemsOf(document)).toEqual([]);
});
