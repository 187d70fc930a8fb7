import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeBackendManifests, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import {
  answerError,
  answerFrames,
  answerWhole,
  BEDROCK_FRAMES,
  BEDROCK_KEYS,
  BEDROCK_REGION,
  beginFrames,
  startBedrockServer,
  type BedrockServer,
} from "../../support/servers/bedrock-server.ts";
import { CACHED_CHARGE_NANO_USD, CACHED_PRICING } from "../../support/servers/cached-usage.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { encodeException, encodePrelude } from "../../support/wire/event-stream.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Anthropic's models on Bedrock, in Bedrock's own form, asked by the official SDKs through a real Envoy (S51, docs/decisions/0075). */

const ID = "eu.anthropic.claude-x-20270101-v1:0";
const ARN = "arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/a1b2c3d4e5f6";
const API_KEY = "bedrock-api-key-Zk3v9QmT7wLr2YbN";
const USAGE = { inputTokens: 20, cachedInputTokens: 700, cacheWriteTokens: 50, outputTokens: 12, reasoningTokens: 0 };

let bedrock: BedrockServer;
let other: RecordingUpstream;
let stack: TestProduct;
let removeManifests: () => Promise<void>;
const bytesOf = (frames: readonly Buffer[]) => frames.reduce((bytes, frame) => bytes + frame.length, 0);

function models(url: string, otherUrl: string): TestModelOfMany[] {
  const own = { name: "bedrock", protocol: "messages", platform: "Bedrock", url, upstreamModel: ID } as const;
  const signed = { ...own, aws: { region: BEDROCK_REGION, keys: BEDROCK_KEYS } };
  const wrong = { ...BEDROCK_KEYS, "secret-access-key": "wrongSecret/v9QmT7wLr2YbN+Zx81hPq" };
  const interfaces = ["ChatCompletions", "Messages", "Responses"];
  const common = { pricing: CACHED_PRICING, maxOutputTokens: 1_000, interfaces };
  const spare = { name: "spare", protocol: "chat", url: otherUrl, priority: 1 } as const;
  return [
    { ...common, name: "by-id", backends: [signed] },
    { ...common, name: "by-arn", backends: [{ ...signed, upstreamModel: ARN }] },
    { ...common, name: "with-betas", backends: [{ ...signed, betas: ["fine-grained-tool-streaming-2025-05-14", "other-1"] }] },
    { ...common, name: "below-a-path", backends: [{ ...signed, url: `${url}/base%20path` }] },
    { ...common, name: "several", backends: [{ ...signed, upstreamModel: ARN }, spare] },
    // One for each client: a throttled backend is skipped for a second.
    ...CLIENT_NAMES.map((_, index) => ({ ...common, name: `throttled-${index}`, backends: [signed, spare] })),
    { ...common, name: "by-key", backends: [{ ...own, credential: API_KEY, credentialHeader: "authorization" }] },
    { ...common, name: "refused", backends: [{ ...own, aws: { region: BEDROCK_REGION, keys: wrong } }] },
    { ...common, name: "early", backends: [signed], streaming: { keepAlive: "1s", answerAfter: "1s" } },
    { ...common, name: "plain", backends: [{ name: "plain", protocol: "messages", url }] },
  ];
}

beforeAll(async () => {
  bedrock = await startBedrockServer({ apiKey: API_KEY });
  other = await startRecordingUpstream((_request, response, body) => {
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  });
  const manifests = await makeBackendManifests(models(bedrock.url, `http://127.0.0.1:${other.port}`));
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
});
afterAll(async () => {
  await stack?.stop();
  await bedrock?.stop();
  await other?.stop();
  await removeManifests?.();
});
beforeEach(() => bedrock.answerWith());

const openai = () => new OpenAI({ apiKey: stack.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });

const CITY = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
const QUESTION = [{ role: "user" as const, content: "Wie ist das Wetter? 世界" }];

const message = (model: string) =>
  ({ model, max_tokens: 500, messages: QUESTION, tools: [{ name: "get_weather", input_schema: CITY }] }) satisfies object;
const completion = (model: string) =>
  ({
    model,
    messages: QUESTION,
    tools: [{ type: "function" as const, function: { name: "get_weather", parameters: CITY } }],
  }) satisfies object;

/** What a client read, whatever its protocol. */
interface Read {
  text: string | null | undefined;
  input: unknown;
  model: string;
  /** Tokens: all of the prompt, those that the server read from its cache, and output. */
  usage: { prompt: number; cached: number; output: number };
  requestId: string;
}

const CLIENTS = {
  async messages(model: string): Promise<Read> {
    const { data, response } = await anthropic().messages.create(message(model)).withResponse();
    return readMessage(data, response);
  },
  async "messages, streamed"(model: string): Promise<Read> {
    const { data, response } = await anthropic().messages.stream(message(model)).withResponse();
    return readMessage(await data.finalMessage(), response);
  },
  async chat(model: string): Promise<Read> {
    const { data, response } = await openai().chat.completions.create(completion(model)).withResponse();
    return readCompletion(data, response);
  },
  async "chat, streamed"(model: string): Promise<Read> {
    const request = { ...completion(model), stream: true as const, stream_options: { include_usage: true } };
    const { data, response } = await openai().chat.completions.create(request).withResponse();
    return readCompletion(await ChatCompletionStream.fromReadableStream(data.toReadableStream()).finalChatCompletion(), response);
  },
} as const;
const CLIENT_NAMES = ["messages", "messages, streamed", "chat", "chat, streamed"] as const;
const STREAMED = ["messages, streamed", "chat, streamed"] as const;
const ANSWER = { text: "Grüße, 世界 🙂", input: { city: "Zürich" }, usage: { prompt: 770, cached: 700, output: 12 } };

function readMessage(answer: Anthropic.Message, { headers }: Response): Read {
  // Bedrock's own figures, in the last event.
  expect(JSON.stringify(answer)).not.toContain("amazon");
  const { content, model, usage } = answer;
  const cached = usage.cache_read_input_tokens ?? 0;
  return {
    text: content.find((block) => block.type === "text")?.text,
    input: content.find((block) => block.type === "tool_use")?.input,
    model,
    usage: {
      prompt: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      cached,
      output: usage.output_tokens,
    },
    requestId: headers.get("request-id") ?? "",
  };
}

function readCompletion({ choices: [choice], model, usage }: OpenAI.ChatCompletion, { headers }: Response): Read {
  const call = choice?.message.tool_calls?.[0];
  return {
    text: choice?.message.content,
    input: call?.type === "function" ? JSON.parse(call.function.arguments) : undefined,
    model,
    usage: {
      prompt: usage?.prompt_tokens ?? 0,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage?.completion_tokens ?? 0,
    },
    requestId: headers.get("x-request-id") ?? "",
  };
}

/** The error of a request that must fail, and what was charged for it. */
async function failureOf(client: keyof typeof CLIENTS, model: string): Promise<unknown> {
  return await CLIENTS[client](model).then(
    () => expect.unreachable(`${client} got an answer`),
    (error: unknown) => error,
  );
}

const pathOf = (client: string, model: string) =>
  `/model/${model}/${client.endsWith("streamed") ? "invoke-with-response-stream" : "invoke"}`;

describe.for(CLIENT_NAMES)("a client of %s", (client) => {
  test.for([
    ["by-id", ID],
    ["by-arn", ARN.replace("/", "%2F")],
    ["several", ARN.replace("/", "%2F")],
    ["by-key", ID],
  ] as const)("gets Bedrock's answer of the Model %s, is charged exactly, and the request is signed", async ([model, id]) => {
    const { requestId, ...read } = await CLIENTS[client](model);
    expect(read).toEqual({ ...ANSWER, model });
    expect(bedrock.asked).toHaveLength(1);
    expect(bedrock.asked).toMatchObject([
      {
        path: pathOf(client, id),
        problem: null,
        body: { anthropic_version: "bedrock-2023-05-31", tools: [{ name: "get_weather" }] },
      },
    ]);
    for (const name of ["model", "stream"]) expect(bedrock.asked[0]?.body).not.toHaveProperty(name);
    expect(await onlyRow(stack, requestId)).toMatchObject({
      model,
      backend: "bedrock",
      upstreamProtocol: "messages",
      outcome: "complete",
      isEstimated: false,
      usage: USAGE,
      chargeNanoUsd: CACHED_CHARGE_NANO_USD,
    });
  });

  test("may have a base path, with escapes that are signed as they are sent", async () => {
    bedrock.answerWith(client.endsWith("streamed") ? answerFrames(BEDROCK_FRAMES) : answerWhole);
    expect(await CLIENTS[client]("below-a-path")).toMatchObject(ANSWER);
    expect(bedrock.asked).toMatchObject([{ path: `/base%20path${pathOf(client, ID)}`, problem: null }]);
  });

  test.for([
    [400, "ValidationException", "messages.0.content: too many images", 400, "messages.0.content: too many images"],
    [400, "ValidationException", "Input is too long for requested model.", 400, "context"],
    [400, "ValidationException", "The provided model identifier is invalid.", 502, "refused the gateway"],
    [400, "ServiceQuotaExceededException", "Quota of 123456789012", 429, "not accepting requests right now"],
    [403, "AccessDeniedException", "User arn:aws:iam::123456789012:user/x is not authorized", 502, "refused the gateway"],
    [404, "ResourceNotFoundException", "Model use case details of 123456789012", 502, "no usable answer"],
    [408, "ModelTimeoutException", "", 504, "took too long"],
    [424, "ModelErrorException", "Failure of 123456789012", 502, "no usable answer"],
    [429, "ThrottlingException", "Too many tokens for 123456789012", 429, "not accepting requests right now"],
    [500, "InternalServerException", "", 500, "The model server failed"],
  ] as const)("gets %i %s (%s) as %i, in its own protocol, for free", async ([status, name, text, expected, words]) => {
    bedrock.answerWith(answerError({ status, name, message: text }));
    const error = await failureOf(client, "by-id");
    expect(error).toBeInstanceOf(client.startsWith("chat") ? OpenAI.APIError : Anthropic.APIError);
    expect(error).toMatchObject({ status: expected });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toMatch(/123456789012|Exception|arn:/);
    const { requestID } = error instanceof Anthropic.APIError || error instanceof OpenAI.APIError ? error : {};
    expect(await onlyRow(stack, requestID ?? "")).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("gets a wrong signature as the gateway's own fault", async () => {
    const error = await failureOf(client, "refused");
    expect(error).toMatchObject({ status: 502 });
    expect(String(error)).toContain("refused the gateway");
    expect(String(error)).not.toContain(BEDROCK_KEYS["access-key-id"]);
    expect(bedrock.asked).toMatchObject([{ problem: "the signature is another" }]);
  });

  test("is answered by the next backend if Bedrock's quota is exceeded", async () => {
    bedrock.answerWith(answerError({ status: 400, name: "ServiceQuotaExceededException", message: "" }));
    const { requestId, text } = await CLIENTS[client](`throttled-${CLIENT_NAMES.indexOf(client)}`);
    expect(text).toBe("one two three");
    expect(bedrock.asked).toMatchObject([{ problem: null }]);
    expect(await onlyRow(stack, requestId)).toMatchObject({ backend: "spare", upstreamProtocol: "chat", outcome: "complete" });
    const sent = other.requests.at(-1);
    expect(sent).toMatchObject({ path: "/v1/chat/completions", headers: { accept: expect.not.stringContaining("amazon") } });
    expect(sent?.headers.authorization).toBeUndefined();
  });
});

/** Requests without an SDK, which show the bytes of a stream. */
function ask(
  client: (typeof STREAMED)[number],
  model: string,
  { headers = {}, fields = {} }: { headers?: Record<string, string>; fields?: object } = {},
): Promise<Response> {
  const isChat = client.startsWith("chat");
  return fetch(`${stack.baseUrl}/v1/${isChat ? "chat/completions" : "messages"}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}`, ...headers },
    body: JSON.stringify({ ...(isChat ? completion(model) : message(model)), stream: true, ...fields }),
  });
}

const idOf = ({ headers }: Response) => headers.get("x-request-id") ?? "";
const ENDS = { "messages, streamed": /event: message_stop\n/, "chat, streamed": /data: \[DONE\]/ } as const;
const ERRORS = {
  "messages, streamed": /\n\nevent: error\ndata: (\{"type":"error".*\})\n\n$/,
  "chat, streamed": /\n\ndata: (\{"error":.*\})\n\n$/,
} as const;
const deliver = answerFrames(BEDROCK_FRAMES);
const BEFORE = BEDROCK_FRAMES.slice(0, 5);

describe.for(STREAMED)("a stream for a client of %s", (client) => {
  test("is server-sent events, without Bedrock's headers", async () => {
    const response = await ask(client, "by-id");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect([...response.headers.keys()].filter((name) => name.startsWith("x-amz"))).toEqual([]);
    expect(await response.text()).toMatch(ENDS[client]);
    expect(bedrock.asked[0]?.headers).toMatchObject({
      accept: "application/vnd.amazon.eventstream",
      "content-type": "application/json",
      "x-amz-content-sha256": expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(bedrock.asked[0]?.headers).not.toHaveProperty("anthropic-version");
  });

  test("is the same in pieces of one byte, and costs the same", async () => {
    bedrock.answerWith(answerFrames(BEDROCK_FRAMES, { pieceBytes: 1 }));
    const { requestId, ...read } = await CLIENTS[client]("by-id");
    expect(read).toEqual({ ...ANSWER, model: "by-id" });
    expect(await onlyRow(stack, requestId)).toMatchObject({ usage: USAGE, chargeNanoUsd: CACHED_CHARGE_NANO_USD });
  });

  test("may be one document", async () => {
    bedrock.answerWith(answerWhole);
    expect(await CLIENTS[client]("by-id")).toMatchObject(ANSWER);
  });

  test.for([
    ["throttlingException", "not accepting requests right now"],
    ["modelStreamErrorException", "no usable answer"],
    ["internalServerException", "The model server failed"],
    ["serviceUnavailableException", "overloaded"],
    ["modelTimeoutException", "took too long"],
    ["validationException", "about 123 tokens"],
  ] as const)("ends with its protocol's error for %s; what was delivered is charged", async ([name, words]) => {
    bedrock.answerWith(answerFrames([...BEFORE, encodeException(name, "about 123 tokens")]));
    const response = await ask(client, "by-id");
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(text).not.toMatch(ENDS[client]);
    expect(ERRORS[client].exec(text)?.[1]).toContain(words);
    const row = await onlyRow(stack, idOf(response));
    expect(row).toMatchObject({ outcome: "failed", httpStatus: 200 });
    expect(row.usage.outputTokens).toBeGreaterThan(0);
    expect(row.usage.outputTokens).toBeLessThan(12);
  });

  test("is raised by its SDK as an error, for an exception after text", async () => {
    bedrock.answerWith(answerFrames([...BEFORE, encodeException("throttlingException", "")]));
    const error = await failureOf(client, "by-id");
    expect(error).toBeInstanceOf(client.startsWith("chat") ? OpenAI.APIError : Anthropic.APIError);
    expect(String(error)).toContain("not accepting requests right now");
  });

  test("of nothing but an exception is free", async () => {
    bedrock.answerWith(answerFrames([encodeException("throttlingException", "")]));
    const response = await ask(client, "by-id");
    expect(await response.text()).toContain("not accepting requests right now");
    expect(await onlyRow(stack, idOf(response))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("ends at a damaged message, with the events before it", async () => {
    const bytes = Buffer.concat(BEDROCK_FRAMES);
    const at = bytesOf(BEDROCK_FRAMES.slice(0, 4)) + 90;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    bedrock.answerWith(answerFrames([bytes]));
    const response = await ask(client, "by-id");
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(text).not.toContain("世界");
    expect(ERRORS[client].exec(text)?.[1]).toContain("stream is damaged");
    expect(await onlyRow(stack, idOf(response))).toMatchObject({ outcome: "failed" });
  });

  test("ends at a message above the bound, before it is complete", async () => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    bedrock.answerWith((response) => {
      beginFrames(response);
      // The rest never comes.
      response.write(Buffer.concat([...BEFORE, encodePrelude({ length: 32 * 1024 * 1024 + 1 })]));
      response.on("close", resolve);
    });
    const response = await ask(client, "by-id");
    expect(ERRORS[client].exec(await response.text())?.[1]).toContain("one event of more than 32 MiB");
    expect(await onlyRow(stack, idOf(response))).toMatchObject({ outcome: "failed" });
    await ended;
  });

  test.for([0, 5, 300])("that its server breaks off %i bytes into a message is reported as such", async (more) => {
    bedrock.answerWith((response) => {
      beginFrames(response);
      response.write(Buffer.concat(BEDROCK_FRAMES).subarray(0, bytesOf(BEFORE) + more));
      setTimeout(() => response.destroy(), 200);
    });
    const response = await ask(client, "by-id");
    const text = await response.text();
    expect(text).toContain("Grüße");
    expect(ERRORS[client].exec(text)?.[1]).toMatch(/stopped in the middle of its answer|ended before it was complete/);
    expect(await onlyRow(stack, idOf(response))).toMatchObject({ outcome: "truncated" });
  });

  test.for([
    ["before its server's headers", (response: ServerResponse): void => void setTimeout(() => void deliver(response), 2_500)],
    [
      "after its server's headers",
      (response: ServerResponse): void => {
        beginFrames(response);
        response.flushHeaders();
        setTimeout(() => response.end(Buffer.concat(BEDROCK_FRAMES)), 2_500);
      },
    ],
  ] as const)("may be answered early, %s", async ([, answer]) => {
    bedrock.answerWith(answer);
    const startedMs = performance.now();
    const response = await ask(client, "early");
    expect(performance.now() - startedMs).toBeLessThan(2_400);
    const text = await response.text();
    expect(text).toContain("世界");
    expect(text).toMatch(ENDS[client]);
    expect(await onlyRow(stack, idOf(response))).toMatchObject({
      outcome: "complete",
      usage: USAGE,
      chargeNanoUsd: CACHED_CHARGE_NANO_USD,
    });
  });
});

const BETAS = "fine-grained-tool-streaming-2025-05-14, claude-code-20250219,other-1";

test("betas that the backend lists are in the body, and the answer says that others were left out", async () => {
  const response = await ask("messages, streamed", "with-betas", { headers: { "anthropic-beta": BETAS } });
  expect(await response.text()).toMatch(ENDS["messages, streamed"]);
  expect(response.headers.get("x-gateway-dropped")).toBe("anthropic-beta");
  expect(bedrock.asked).toMatchObject([
    { problem: null, body: { anthropic_beta: ["fine-grained-tool-streaming-2025-05-14", "other-1"] } },
  ]);
  expect(bedrock.asked[0]?.headers).not.toHaveProperty("anthropic-beta");
});

test("Bedrock gets no betas unless the backend lists them: it refuses requests for one that it does not know", async () => {
  const headers = { "anthropic-beta": `${BETAS},context-management-2025-06-27` };
  const response = await ask("messages, streamed", "by-id", { headers, fields: { context_management: { edits: [] } } });
  expect(await response.text()).toMatch(ENDS["messages, streamed"]);
  expect(response.headers.get("x-gateway-dropped")).toBe("anthropic-beta, context_management");
  for (const name of ["anthropic_beta", "context_management"]) expect(bedrock.asked[0]?.body).not.toHaveProperty(name);
});

test("tokens are counted by the gateway, without a request to Bedrock", async () => {
  const { input_tokens: count } = await anthropic().messages.countTokens({ model: "by-id", messages: QUESTION });
  expect(count).toBeGreaterThan(0);
  expect(bedrock.asked).toEqual([]);
});

test("a client of Responses reaches it as well", async () => {
  const answer = await openai().responses.create({ model: "by-id", input: "Hi." });
  expect(answer).toMatchObject({ output_text: ANSWER.text, usage: { input_tokens: 770, output_tokens: 12 } });
  let text = "";
  for await (const event of await openai().responses.create({ model: "by-id", input: "Hi.", stream: true }))
    if (event.type === "response.output_text.delta") text += event.delta;
  expect(text).toBe(ANSWER.text);
});

test("AWS's event stream is no answer of a server that is not Bedrock", async () => {
  bedrock.answerWith(answerFrames(BEDROCK_FRAMES));
  const response = await ask("messages, streamed", "plain");
  expect(response.status).toBe(502);
  expect(await onlyRow(stack, idOf(response))).toMatchObject({ chargeNanoUsd: 0n });
});
