import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { CACHED_CHARGE_NANO_USD, CACHED_PRICING } from "../../support/servers/cached-usage.ts";
import { eventually } from "../../support/eventually.ts";
import { startGoogleMetadata, type GoogleMetadata } from "../../support/servers/google-metadata.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";
import {
  answerAnthropicError,
  answerBrokenStream,
  answerGoogleError,
  startVertexServer,
  type VertexServer,
} from "../../support/servers/vertex-server.ts";

/**
 * Gemini and Anthropic's models on Vertex AI (S51), with the identity of the machine, which a metadata server hands out (S49,
 * docs/decisions/0079).
 */
const PROJECT = "/v1/projects/acme/locations/global/endpoints/openapi";
const MODELS = "/v1/projects/acme/locations/global/publishers/anthropic/models";
const KEY = "px-live-Zk3v9QmT7wLr2YbN";

let metadata: GoogleMetadata;
let vertex: VertexServer;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let client: OpenAI;
beforeEach(() => {
  vertex.asked.length = 0;
  vertex.answerWith();
  metadata.fail();
  metadata.issueFor(3_599);
});

function model(name: string, change: Partial<TestBackend> = {}, more: readonly TestBackend[] = []): TestModelOfMany {
  const upstreamModel = "google/gemini-2.5-pro";
  const gemini = { name: "vertex", protocol: "chat", url: vertex.openaiUrl, upstreamModel, google: {} } as const;
  return { name, backends: [{ ...gemini, ...change }, ...more], maxOutputTokens: 100 };
}

function models(): TestModelOfMany[] {
  const claude = {
    name: "vertex",
    protocol: "messages",
    platform: "VertexAI",
    url: vertex.anthropicUrl,
    upstreamModel: "claude-x@20270101",
    google: {},
  } as const;
  const common = { pricing: CACHED_PRICING, maxOutputTokens: 1_000 };
  return [
    model("gemini"),
    model("elsewhere", { url: vertex.origin.replace("127.0.0.1", "127.0.0.2") }),
    { ...common, name: "claude", backends: [claude] },
    { ...common, name: "with-betas", backends: [{ ...claude, betas: ["known-2027-01-01"] }] },
  ];
}

beforeAll(async () => {
  metadata = await startGoogleMetadata();
  vertex = await startVertexServer((token) => token === `Bearer ${KEY}` || metadata.isValid(token));
  manifests = await makeBackendManifests(models());
  stack = await startTestStack({
    manifestsDirectory: manifests.directory,
    environment: { GCE_METADATA_HOST: metadata.host, BACKEND_GOOGLE_HOSTS: "127.0.0.1" },
  });
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
  for (const name of ["gemini", "claude", "with-betas"]) await eventually(() => ask(name));
});
afterAll(async () => {
  await stack?.stop();
  for (const each of [vertex, metadata]) await each?.stop();
  await manifests?.remove();
});

const anthropic = () => new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });
const messages = [{ role: "user", content: "Hello." }] satisfies OpenAI.ChatCompletionMessageParam[];

async function ask(name: string): Promise<string | null | undefined> {
  return (await client.chat.completions.create({ model: name, messages })).choices[0]?.message.content;
}

async function askFor(name: string, ms: number): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const end = Date.now() + ms; Date.now() < end; await sleep(20))
    await ask(name).catch((error: unknown) => failures.push(error));
  return failures;
}

const tokenOf = ({ headers }: VertexServer["asked"][number]) => headers.authorization;

/** Another Model: Envoy fetches a token for it when it gets it. */
async function add(...added: TestModelOfMany[]): Promise<void> {
  await manifests.write([...models(), ...added]);
  await eventually(async () => {
    const served = await client.models.list();
    for (const { name } of added) expect(served.data.map(({ id }) => id)).toContain(name);
  });
}

test("Gemini is asked with the machine's token, streamed or not, by its path and name at Vertex AI", async () => {
  expect(await ask("gemini")).toBe("one two three");
  const stream = await client.chat.completions.create({ model: "gemini", messages, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  expect(text).toBe("one two three");
  expect(new Set(vertex.asked.map(tokenOf)).size).toBe(1);
  for (const { path: asked, body } of vertex.asked) {
    expect({ path: asked, body }).toMatchObject({
      path: `${PROJECT}/chat/completions`,
      body: { model: "google/gemini-2.5-pro" },
    });
  }
});

test("the metadata server is asked once for each backend, as it expects to be", async () => {
  expect(metadata.problems).toEqual([]);
  expect(metadata.askedMs).toHaveLength(3);
});

test("a Model whose server is not at Vertex AI gets no token and is not served", async () => {
  await expect(ask("elsewhere")).rejects.toMatchObject({ status: 404 });
  expect(vertex.asked).toEqual([]);
});

test("whatever else the metadata server answers, it is asked again each second, and clients get a 503 that costs nothing", async () => {
  const failures = [
    { status: 404, body: "no default service account" },
    { status: 403, body: "forbidden" },
    { status: 302, body: "" },
    { status: 200, body: "<html>" },
    { status: 200, body: "" },
    { status: 200, body: "{}" },
    { status: 200, body: '{"access_token":"abc"}' },
    { status: 200, body: '{"access_token":"abc","expires_in":0}' },
    { status: 200, body: '{"access_token":"a\\r\\nx: y","expires_in":60}' },
    { status: 200, body: '{"access_token":"a\\","expires_in":60}' },
    { status: 500, body: "", delayMs: 500 },
  ];
  metadata.fail(...failures);
  await stack.idle();
  const before = await stack.balanceNanoUsd();
  const askedBefore = metadata.askedMs.length;
  await add(model("without"));
  await expect(ask("without")).rejects.toMatchObject({ status: 503, code: "upstream_unavailable" });
  const refused = anthropic().messages.create({ model: "without", max_tokens: 16, messages });
  await expect(refused).rejects.toMatchObject({ status: 503, error: { type: "error", error: { type: "overloaded_error" } } });
  const streamed = client.chat.completions.create({ model: "without", messages, stream: true });
  await expect(streamed).rejects.toMatchObject({ status: 503, code: "upstream_unavailable" });
  await eventually(() => expect(metadata.askedMs.length).toBe(askedBefore + failures.length), { withinMs: 20_000 });
  const times = metadata.askedMs.slice(askedBefore);
  for (const [index, ms] of times.slice(1).entries()) expect(ms - (times[index] ?? 0)).toBeGreaterThan(900);
  expect(vertex.asked).toEqual([]);
  await stack.idle();
  expect(await stack.balanceNanoUsd()).toBe(before);
  metadata.fail();
  expect(await eventually(() => ask("without"))).toBe("one two three");
  const accessLog = await readFile(path.join(stack.directory.logs, "access.log"), "utf8");
  expect(accessLog).toContain('"details":"failed_to_inject_credential"');
  expect(accessLog).toContain('"details":"gateway_upstream_unavailable:failed_to_inject_credential"');
});

test("a token is replaced before it expires, and no request fails", async () => {
  metadata.issueFor(4);
  await add(model("hasty"));
  await eventually(() => ask("hasty"));
  vertex.asked.length = 0;
  expect(await askFor("hasty", 5_000)).toEqual([]);
  expect(new Set(vertex.asked.map(tokenOf)).size).toBeGreaterThan(1);
});

test("the next backend is asked while there is no token, with its own credential", async () => {
  metadata.fail({ status: 404, body: "" });
  const key = { name: "key", protocol: "chat", url: vertex.origin, priority: 1, credential: KEY } as const;
  await add(model("with-another", {}, [key]));
  expect(await ask("with-another")).toBe("one two three");
  expect(vertex.asked).toMatchObject([{ headers: { authorization: `Bearer ${KEY}` }, path: "/v1/chat/completions" }]);
});

test("neither logs nor Envoy's dump show a token", async () => {
  await ask("gemini");
  const token = vertex.asked.at(-1)?.headers.authorization?.slice("Bearer ".length) ?? "";
  expect(metadata.isValid(`Bearer ${token}`)).toBe(true);
  const dump = await (await fetch(`${stack.envoyAdminUrl}/config_dump?include_eds`)).text();
  expect(dump).toContain("google~metadata");
  expect(dump).not.toContain(token);
  expect(stack.complaints.join("\n")).not.toContain(token);
});

interface Read {
  text: string | null | undefined;
  model: string;
  requestId: string | null | undefined;
}

/** Claude, asked over each interface. */
const CLIENTS = {
  async messages(name: string): Promise<Read> {
    const { content, model: served, _request_id } = await anthropic().messages.create({ model: name, max_tokens: 500, messages });
    return { text: content.find((block) => block.type === "text")?.text, model: served, requestId: _request_id };
  },
  async "messages, streamed"(name: string): Promise<Read> {
    const stream = anthropic().messages.stream({ model: name, max_tokens: 500, messages });
    const { content, model: served } = await stream.finalMessage();
    return { text: content.find((block) => block.type === "text")?.text, model: served, requestId: stream.request_id };
  },
  async chat(name: string): Promise<Read> {
    const { choices, model: served, _request_id } = await client.chat.completions.create({ model: name, messages });
    return { text: choices[0]?.message.content, model: served, requestId: _request_id };
  },
  async "chat, streamed"(name: string): Promise<Read> {
    const { data, request_id: requestId } = await client.chat.completions
      .create({ model: name, messages, stream: true })
      .withResponse();
    let text = "";
    let served = "";
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta.content ?? "";
      served = chunk.model;
    }
    return { text, model: served, requestId };
  },
  async responses(name: string): Promise<Read> {
    const { output_text: text, model: served, _request_id } = await client.responses.create({ model: name, input: "Hello." });
    return { text, model: served, requestId: _request_id };
  },
  async "responses, streamed"(name: string): Promise<Read> {
    const { data, request_id: requestId } = await client.responses
      .create({ model: name, input: "Hello.", stream: true })
      .withResponse();
    let last: OpenAI.Responses.Response | undefined;
    for await (const event of data) if (event.type === "response.completed") last = event.response;
    const part = last?.output.flatMap((item) => (item.type === "message" ? item.content : []))[0];
    return { text: part?.type === "output_text" ? part.text : undefined, model: last?.model ?? "", requestId };
  },
} as const;
const CLIENT_NAMES = ["messages", "messages, streamed", "chat", "chat, streamed", "responses", "responses, streamed"] as const;

async function failureOf(each: keyof typeof CLIENTS, name: string): Promise<unknown> {
  return await CLIENTS[each](name).then(
    () => expect.unreachable(`${each} got an answer`),
    (error: unknown) => error,
  );
}

describe.for(CLIENT_NAMES)("a client of %s", (each) => {
  test("gets the answer of Anthropic's model on Vertex AI, and is charged exactly", async () => {
    const { requestId, ...read } = await CLIENTS[each]("claude");
    expect(read).toEqual({ text: "Grüße, 世界", model: "claude" });
    const method = each.endsWith("streamed") ? "streamRawPredict" : "rawPredict";
    expect(vertex.asked).toMatchObject([{ path: `${MODELS}/claude-x@20270101:${method}` }]);
    expect(vertex.asked[0]?.headers).not.toHaveProperty("x-api-key");
    expect(await onlyRow(stack, requestId ?? "")).toMatchObject({
      model: "claude",
      upstreamProtocol: "messages",
      outcome: "complete",
      isEstimated: false,
      usage: { inputTokens: 20, cachedInputTokens: 700, cacheWriteTokens: 50, outputTokens: 12 },
      chargeNanoUsd: CACHED_CHARGE_NANO_USD,
    });
  });

  test.for([
    [
      400,
      "Publisher Model `projects/acme/locations/global/publishers/anthropic/models/x` is not servable",
      502,
      "refused the gateway",
    ],
    [403, "Permission denied on resource project acme", 502, "refused the gateway"],
    [404, "Publisher Model `projects/acme/models/x` was not found", 502, "no usable answer"],
    [429, "Quota exceeded for acme", 429, "not accepting requests right now"],
    [503, "The service acme is unavailable", each.startsWith("messages") ? 529 : 503, "overloaded"],
  ] as const)("gets Google's %i (%s) as %i, which tells nothing of the project", async ([code, message, status, words]) => {
    vertex.answerWith((response) => answerGoogleError(response, { code, message }));
    const error = await failureOf(each, "claude");
    expect(error).toMatchObject({ status });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toContain("acme");
  });

  test("gets Anthropic's words about its request", async () => {
    const refusal = { type: "invalid_request_error", message: "messages.0: too many images" };
    vertex.answerWith((response) => answerAnthropicError(response, 400, refusal));
    const error = await failureOf(each, "claude");
    expect(error).toMatchObject({ status: 400 });
    expect(String(error)).toContain(refusal.message);
  });
});

test("a stream that Anthropic's model ends with an error has its protocol's error, and what was delivered is charged", async () => {
  vertex.answerWith(answerBrokenStream);
  const stream = anthropic().messages.stream({ model: "claude", max_tokens: 500, messages });
  await expect(stream.finalMessage()).rejects.toThrow(/overloaded/i);
  const row = await onlyRow(stack, stream.request_id ?? "");
  expect(row).toMatchObject({ outcome: "failed", httpStatus: 200 });
  expect(row.usage.outputTokens).toBeGreaterThan(0);
});

test("Vertex AI gets the betas that its backend lists, and no others", async () => {
  const betas = { headers: { "anthropic-beta": "known-2027-01-01,context-management-2025-06-27" } };
  const fields = { max_tokens: 500, messages, context_management: { edits: [] } };
  for (const name of ["claude", "with-betas"]) {
    const { response } = await anthropic()
      .messages.create({ model: name, ...fields }, betas)
      .withResponse();
    expect(response.headers.get("x-gateway-dropped")).toBe("anthropic-beta, context_management");
  }
  expect(vertex.asked.map(({ headers }) => headers["anthropic-beta"])).toEqual([undefined, "known-2027-01-01"]);
  for (const { body } of vertex.asked) expect(body).not.toHaveProperty("context_management");
});

test("Vertex AI counts tokens, without betas; if it refuses, the gateway estimates", async () => {
  const betas = { headers: { "anthropic-beta": "known-2027-01-01,context-management-2025-06-27" } };
  const count = () => anthropic().messages.countTokens({ model: "with-betas", messages }, betas);
  expect(await count()).toEqual({ input_tokens: 33 });
  expect(vertex.asked).toMatchObject([{ path: `${MODELS}/count-tokens:rawPredict`, body: { model: "claude-x@20270101" } }]);
  vertex.answerWith((response) => answerGoogleError(response, { code: 400, message: "not here" }));
  expect((await count()).input_tokens).toBeGreaterThan(0);
});
