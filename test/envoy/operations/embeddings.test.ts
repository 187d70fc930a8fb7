import type { ServerResponse } from "node:http";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseEmbeddingsRequest } from "../../../local/simulator/embeddings/request.ts";
import { embeddingsAnswer } from "../../../local/simulator/embeddings/response.ts";
import { embed } from "../../../local/simulator/embeddings/vector.ts";
import type { TestBackend, TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { eventually } from "../../support/eventually.ts";
import { backendAt, useScriptedModels } from "../../support/servers/scripted-models.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { onlyRow } from "../../support/billing/settlement.ts";

/** Embeddings by the official SDK, from a model server that a test scripts, through a real Envoy and into a real ledger (S46). */
const stack = useScriptedModels(
  (request, response, body) => {
    const [, name = ""] = (request.url ?? "").split("/");
    received.set(name, { path: request.url ?? "", body });
    SERVERS[name]?.(response, body);
  },
  (url) => [
    embeddings("simulated", [backendAt(url, "simulated")]),
    embeddings("floats", [backendAt(url, "floats")]),
    embeddings("silent", [backendAt(url, "silent")]),
    embeddings("scripted", [backendAt(url, "scripted")]),
    embeddings("falls-back", [backendAt(url, "failing"), { ...backendAt(url, "simulated"), name: "second", priority: 1 }]),
    embeddings("fails", [backendAt(url, "failing")]),
    embeddings("stalls", [backendAt(url, "stalling")]),
    { name: "chat-only", backends: [backendAt(url, "simulated")] },
  ],
);

/** The last request of each server. */
const received = new Map<string, { path: string; body: string }>();
/** The answer of `scripted`. */
let answer = Buffer.alloc(0);

const SERVERS: Readonly<Record<string, (response: ServerResponse, body: string) => void>> = {
  simulated: (response, body) => send(response, 200, JSON.stringify(simulate(body, {}))),
  floats: (response, body) => send(response, 200, JSON.stringify(simulate(body, { isBase64: false }))),
  silent: (response, body) => send(response, 200, JSON.stringify({ ...simulate(body, {}), usage: undefined })),
  scripted: (response) => send(response, 200, answer),
  failing: (response) => send(response, 500, '{"error":{"message":"out of memory","type":"server_error"}}'),
  stalling: () => {},
};

function simulate(body: string, changes: object): object {
  return embeddingsAnswer({ ...parseEmbeddingsRequest(JSON.parse(body)), ...changes }, parseDirective(""));
}

function send(response: ServerResponse, status: number, body: string | Buffer): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

function embeddings(name: string, backends: TestBackend[]): TestModelOfMany {
  return { name, interfaces: ["Embeddings"], pricing: { inputPerMillion: "1.00" }, contextWindow: 8_192, backends };
}

const client = (apiKey = stack().apiKey) => new OpenAI({ apiKey, baseURL: `${stack().baseUrl}/v1`, maxRetries: 0 });
const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";

/** Body as written, by plain HTTP. */
async function post(body: object | string, path = "/v1/embeddings", apiKey = stack().apiKey) {
  const response = await fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, requestId: idOf(response) };
}

const TEXTS = ["The cat sat on the mat.", "Une phrase française.", "猫"];
/** As the simulated server counts: four bytes a token. */
const TOKENS = 6 + 6 + 1;

describe("the official SDK", () => {
  test("gets the vectors of a batch, in base64 as it requests by default, and its tokens are charged (S28)", async () => {
    const { data, response } = await client().embeddings.create({ model: "simulated", input: TEXTS }).withResponse();
    expect(data).toMatchObject({ object: "list", model: "simulated", usage: { prompt_tokens: TOKENS, total_tokens: TOKENS } });
    expect(data.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(data.data.map(({ embedding }) => embedding)).toEqual(TEXTS.map((text) => [...embed(text, 1_536)]));

    const row = await onlyRow(stack(), idOf(response));
    expect(row).toMatchObject({
      model: "simulated",
      interface: "embeddings",
      upstreamProtocol: "chat",
      outcome: "complete",
      httpStatus: 200,
      isEstimated: false,
      usage: { inputTokens: TOKENS, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
      chargeNanoUsd: BigInt(TOKENS) * 1_000n,
    });
  });

  test.for<[string, OpenAI.EmbeddingCreateParams["input"], number]>([
    ["a text", "Hello", 1],
    ["token ids", [15_339, 1_917], 1],
    ["arrays of token ids", [[15_339], [1_917, 3]], 2],
  ])("sends %s", async ([, input, vectors]) => {
    const { data } = await client().embeddings.create({ model: "simulated", input, encoding_format: "float", dimensions: 8 });
    expect(data.map(({ embedding }) => embedding.length)).toEqual(Array.from({ length: vectors }, () => 8));
  });

  test("reads floats from a server that ignores its request for base64", async () => {
    const { data } = await client().embeddings.create({ model: "floats", input: "Hello", dimensions: 4 });
    expect(data[0]?.embedding).toEqual([...embed("Hello", 4)]);
  });

  test("is told which field is wrong (S21)", async () => {
    const wrong = client().embeddings.create({ model: "simulated", input: ["a", ""] });
    await expect(wrong).rejects.toMatchObject({ status: 400, param: "input[1]", type: "invalid_request_error" });
  });

  test("lists the model with its capabilities", async () => {
    expect(await client().models.retrieve("simulated")).toMatchObject({
      id: "simulated",
      capabilities: ["embeddings"],
      context_length: 8_192,
    });
    expect(Object.keys(await client().models.retrieve("simulated"))).not.toContain("max_completion_tokens");
  });
});

test("only the model's name changes on the way to the server", async () => {
  const body = '{ "input" : ["h\\u00e9"], "truncate": true, "big":12345678901234567890, "model" :"simulated" }';
  expect((await post(body)).status).toBe(200);
  expect(received.get("simulated")).toEqual({
    path: "/simulated/v1/embeddings",
    body: body.replace('"simulated"', '"inner-model"'),
  });
});

describe("models of the other kind (S7)", () => {
  test("a model for conversations serves no embeddings", async () => {
    const { status, text } = await post({ model: "chat-only", input: "a" });
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "model_not_found", param: "model" } });
    expect(text).toContain(
      "not available on this interface, only on POST /v1/chat/completions, POST /v1/messages, and POST /v1/responses.",
    );
    expect(text).toContain("This interface has: fails, falls-back, floats,");
  });

  test.for([
    ["/v1/chat/completions", { messages: [{ role: "user", content: "a" }] }],
    ["/v1/messages", { max_tokens: 16, messages: [{ role: "user", content: "a" }] }],
    ["/v1/responses", { input: "a" }],
  ] as const)("a model for embeddings is not found for POST %s", async ([path, body]) => {
    const { status, text } = await post({ model: "simulated", ...body }, path);
    expect(status).toBe(404);
    expect(text).toContain("not available on this interface, only on POST /v1/embeddings");
  });
});

describe("failures", () => {
  test.for([
    ["one too few", [0, 1], "has 2 embeddings, and the request has 3 inputs"],
    ["one too many", [0, 1, 2, null], "has 4 embeddings, and the request has 3 inputs"],
    ["two of one input", [0, 1, 1], "has two embeddings for one input"],
  ] as const)("an answer with %s is the server's error, and free", async ([, indexes, message]) => {
    const data = indexes.map((index) => ({ object: "embedding", index, embedding: [0.5] }));
    answer = Buffer.from(
      JSON.stringify({ object: "list", data, model: "inner-model", usage: { prompt_tokens: 3, total_tokens: 3 } }),
    );
    const { status, text, requestId } = await post({ model: "scripted", input: TEXTS });
    expect([status, JSON.parse(text)]).toMatchObject([502, { error: { code: "upstream_error" } }]);
    expect(text).toContain(message);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test("the next server is tried if the first one fails, and the one that answered is recorded (S22)", async () => {
    const { status, text, requestId } = await post({ model: "falls-back", input: "Hello" });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ model: "falls-back" });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", outcome: "complete", chargeNanoUsd: 2_000n });
  });

  test("a failed request is free, and releases its hold", async () => {
    const customer = await stack().createAccount({ name: "unlucky", creditNanoUsd: 1_000_000n });
    const { status, requestId } = await post({ model: "fails", input: "Hello" }, "/v1/embeddings", customer.apiKey);
    expect(status).toBe(500);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n, usage: { inputTokens: 0 } });
    await expectUnheld(customer.apiKey, "0.001000000");
  });

  test("a client that disconnects is charged nothing", async () => {
    const customer = await stack().createAccount({ name: "impatient", creditNanoUsd: 1_000_000n });
    const leaving = client(customer.apiKey).embeddings.create(
      { model: "stalls", input: "Hello" },
      { signal: AbortSignal.timeout(500) },
    );
    await expect(leaving).rejects.toThrow("Request was aborted.");
    await expectUnheld(customer.apiKey, "0.001000000");
  });

  test("usage that the server does not report is counted by the gateway, and flagged (S28)", async () => {
    const { requestId } = await post({ model: "silent", input: ["a".repeat(400), "b".repeat(40)] });
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: true,
      usage: { inputTokens: 110, outputTokens: 0 },
      chargeNanoUsd: 110_000n,
    });
  });

  test("a request that the credit does not cover is refused with the numbers, before any server is called (S19, S37)", async () => {
    const customer = await stack().createAccount({ name: "poor", creditNanoUsd: 50_000n });
    received.delete("simulated");
    const { status, text, headers } = await post(
      { model: "simulated", input: "a".repeat(300) },
      "/v1/embeddings",
      customer.apiKey,
    );
    expect(status).toBe(402);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(text).toContain("covers 50 input tokens, and this request may have 108. Send fewer or shorter inputs, or add credit");
    expect(received.has("simulated")).toBe(false);
    expect((await post({ model: "simulated", input: "a".repeat(100) }, "/v1/embeddings", customer.apiKey)).status).toBe(200);
  });

  test("a key without credit is refused before its body is read", async () => {
    const customer = await stack().createAccount({ name: "empty", creditNanoUsd: 0n });
    const { status, text } = await post("not even JSON", "/v1/embeddings", customer.apiKey);
    expect(status).toBe(402);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "insufficient_balance" } });
  });
});

describe("large answers", () => {
  const bodyBytes = async () => (await scrape(stack().extprocAdminUrl)).get("gateway_body_bytes") ?? 0;
  const vector = (index: number) => `{"object":"embedding","index":${index},"embedding":"${"A".repeat(16_384)}"}`;
  const answerOf = (vectors: number) =>
    Buffer.from(
      `{"object":"list","data":[${Array.from({ length: vectors }, (_, index) => vector(index)).join(",")}],"model":"inner-model","usage":{"prompt_tokens":7,"total_tokens":7}}`,
    );

  const inputs = (count: number) => Array.from({ length: count }, () => "a");

  test("have memory reserved before they arrive: beyond an account's share they are refused (S40)", async () => {
    const input = inputs(2_048);
    const leave = new AbortController();
    const asked = Array.from({ length: 20 }, () =>
      client().embeddings.create({ model: "stalls", input }, { signal: leave.signal }),
    );
    const refusals: unknown[] = [];
    for (const each of asked) each.catch((error: unknown) => void refusals.push(error));
    await eventually(() => expect(refusals.length).toBeGreaterThan(5));
    expect(refusals[0]).toMatchObject({ status: 429, message: expect.stringMatching(/share of the gateway's memory/) });
    expect(await bodyBytes()).toBeLessThanOrEqual(512 * 1024 * 1024);
    leave.abort();
    await Promise.allSettled(asked);
    await eventually(async () => expect(await bodyBytes()).toBe(0));
  });

  test("count for as long as a slow client may still be reading them (S40)", async () => {
    answer = answerOf(200);
    expect((await post({ model: "scripted", input: inputs(200) })).status).toBe(200);
    expect(await bodyBytes()).toBeGreaterThanOrEqual(answer.length);
    await eventually(async () => expect(await bodyBytes()).toBe(0));
  });

  test("of 31 MiB pass, under the name that the client requested", async () => {
    answer = answerOf(1_980);
    expect(answer.length).toBeGreaterThan(31 * 1024 * 1024);
    const { status, text, requestId } = await post({ model: "scripted", input: inputs(1_980) });
    expect(status).toBe(200);
    expect(text).toBe(answer.toString("utf8").replace('"inner-model"', '"scripted"'));
    expect(await onlyRow(stack(), requestId)).toMatchObject({ usage: { inputTokens: 7 }, chargeNanoUsd: 7_000n });
  });

  test("beyond 32 MiB are refused with the remedy, and free", async () => {
    answer = answerOf(2_048);
    expect(answer.length).toBeGreaterThan(32 * 1024 * 1024);
    const { status, text, headers, requestId } = await post({ model: "scripted", input: inputs(2_048) });
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "upstream_error" } });
    expect(text).toContain("larger than 32 MiB");
    expect(headers.get("x-should-retry")).toBe("false");
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });
});

async function expectUnheld(apiKey: string, available: string): Promise<void> {
  await eventually(async () => {
    const response = await fetch(`${stack().baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await response.json()).toMatchObject({ available, held: "0.000000000" });
  });
}
