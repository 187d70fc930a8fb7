import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseRerankRequest } from "../../../local/simulator/rerank/request.ts";
import { rerankAnswer } from "../../../local/simulator/rerank/response.ts";
import type { TestBackend, TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { eventually } from "../../support/eventually.ts";
import { backendAt, useScriptedModels } from "../../support/servers/scripted-models.ts";
import { onlyRow } from "../../support/billing/settlement.ts";

/** Rankings by plain HTTP, from a model server that a test scripts, through a real Envoy and into a real ledger (S46). */
const stack = useScriptedModels(
  (request, response, body) => {
    const [, name = ""] = (request.url ?? "").split("/");
    received.set(name, { path: request.url ?? "", body });
    SERVERS[name]?.(response, body);
  },
  (url) => [
    rerank("simulated", [backendAt(url, "simulated")]),
    rerank("scripted", [backendAt(url, "scripted")]),
    rerank("falls-back", [backendAt(url, "failing"), { ...backendAt(url, "simulated"), name: "second", priority: 1 }]),
    rerank("fails", [backendAt(url, "failing")]),
    rerank("complains", [backendAt(url, "complaining")]),
    rerank("stalls", [backendAt(url, "stalling")]),
    { ...rerank("by-search", [backendAt(url, "scripted")]), pricing: { searchPerThousand: "2.00" } },
    { ...rerank("by-both", [backendAt(url, "scripted")]), pricing: { inputPerMillion: "1.00", searchPerThousand: "2.00" } },
    { ...rerank("stalls-by-search", [backendAt(url, "stalling")]), pricing: { searchPerThousand: "2.00" } },
    { name: "chat-only", backends: [backendAt(url, "simulated")] },
  ],
);

/** What each server got last. */
const received = new Map<string, { path: string; body: string }>();
/** What `scripted` answers. */
let answer = "";

const SERVERS: Readonly<Record<string, (response: ServerResponse, body: string) => void>> = {
  simulated: (response, body) =>
    send(response, 200, JSON.stringify(rerankAnswer(parseRerankRequest(JSON.parse(body)), parseDirective("")))),
  scripted: (response) => send(response, 200, answer),
  failing: (response) => send(response, 500, '{"message":"out of memory"}'),
  // As Cohere words its errors.
  complaining: (response) => send(response, 400, '{"id":"1","message":"inner-model: too many tokens in a document"}'),
  stalling: () => {},
};

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

function rerank(name: string, backends: TestBackend[]): TestModelOfMany {
  return { name, interfaces: ["Rerank"], pricing: { inputPerMillion: "1.00" }, contextWindow: 8_192, backends };
}

interface Sent {
  path?: string;
  apiKey?: string;
  signal?: AbortSignal;
}

async function post(body: object | string, { path = "/v1/rerank", apiKey = stack().apiKey, signal }: Sent = {}) {
  const response = await fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, requestId: response.headers.get("x-request-id") ?? "" };
}

const QUERY = "What do cats eat?";
const DOCUMENTS = ["Cars need fuel.", { text: "What cats eat is meat." }, "Clouds are water."];
/** As the simulated server counts: four bytes a token, of the query and each document together. */
const TOKENS = 8 + 10 + 9;
const ASKED = { model: "simulated", query: QUERY, documents: DOCUMENTS };

describe.for(["/v1/rerank", "/v2/rerank"])("POST %s", (path) => {
  test("orders documents, and the tokens that the server reports are charged (S28)", async () => {
    const { status, text, headers, requestId } = await post({ ...ASKED, top_n: 2, return_documents: true }, { path });
    expect(status).toBe(200);
    const ranking = JSON.parse(text);
    expect(ranking).toMatchObject({ model: "simulated", usage: { total_tokens: TOKENS } });
    expect(ranking.results).toHaveLength(2);
    expect(ranking.results[0]).toEqual({ index: 1, relevance_score: expect.any(Number), document: DOCUMENTS[1] });
    expect(headers.get("x-gateway-cost")).toBe(`0.0000${TOKENS}000`);
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      model: "simulated",
      interface: "rerank",
      upstreamProtocol: "chat",
      outcome: "complete",
      httpStatus: 200,
      isEstimated: false,
      usage: { inputTokens: TOKENS, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
      chargeNanoUsd: BigInt(TOKENS) * 1_000n,
    });
  });

  test("changes only the model's name on the way to the server", async () => {
    const body = '{ "query":"h\\u00e9", "documents" : ["a"], "big":12345678901234567890, "model" :"simulated" }';
    expect((await post(body, { path })).status).toBe(200);
    expect(received.get("simulated")).toEqual({
      path: "/simulated/v1/rerank",
      body: body.replace('"simulated"', '"inner-model"'),
    });
  });
});

test("the cost is added to the usage, or is all of it", async () => {
  const withUsage = await post({ ...ASKED, usage: { include: true } });
  expect(JSON.parse(withUsage.text).usage).toMatchObject({ total_tokens: TOKENS, cost: TOKENS / 1e6 });
  answer = '{"results":[],"meta":{"billed_units":{"search_units":1},"tokens":{"input_tokens":40}}}';
  const without = await post({ ...ASKED, model: "scripted", usage: { include: true } });
  expect(JSON.parse(without.text).usage).toEqual({ cost: 0.00004 });
});

test("lists the model with its capability and endpoint (S45)", async () => {
  const response = await fetch(`${stack().baseUrl}/v1/models/simulated`, {
    headers: { authorization: `Bearer ${stack().apiKey}` },
  });
  const model = Object(await response.json());
  expect(model).toMatchObject({ capabilities: ["rerank"], context_length: 8_192, supported_endpoints: ["/v1/rerank"] });
  expect(Object.keys(model)).not.toContain("max_completion_tokens");
});

describe("models of the other kind (S7)", () => {
  test("a model for conversations ranks nothing", async () => {
    const { status, text } = await post({ ...ASKED, model: "chat-only" });
    expect(status).toBe(404);
    expect(text).toContain(
      "not available on this interface, only on POST /v1/chat/completions, POST /v1/messages, and POST /v1/responses.",
    );
    expect(text).toContain("This interface has: by-both, by-search, complains,");
  });

  test.for([
    ["/v1/chat/completions", { messages: [{ role: "user", content: "a" }] }],
    ["/v1/messages", { max_tokens: 16, messages: [{ role: "user", content: "a" }] }],
    ["/v1/embeddings", { input: "a" }],
  ] as const)("a model for rankings is not found for POST %s", async ([path, body]) => {
    const { status, text } = await post({ model: "simulated", ...body }, { path });
    expect(status).toBe(404);
    expect(text).toContain("not available on this interface, only on POST /v1/rerank");
  });
});

describe("hostile servers", () => {
  const RESULTS = '"results":[{"index":0,"relevance_score":0.5}]';

  test.for([
    ["an index that the request does not have", '{"results":[{"index":3,"relevance_score":1}]}'],
    ["a negative index", '{"results":[{"index":-1,"relevance_score":1}]}'],
    ["more results than documents", `{"results":[${Array(4).fill('{"index":0,"relevance_score":1}').join(",")}]}`],
    ["no list of results", '{"data":[]}'],
    ["no JSON", "<html></html>"],
    ["half an answer", '{"results":[{"index":0,'],
    ["a hundred thousand arrays", `{"results":${"[".repeat(200_000)}`],
  ] as const)("%s is a 502, and free", async ([, sent]) => {
    answer = sent;
    const { status, text, requestId } = await post({ ...ASKED, model: "scripted" });
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "upstream_error" } });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n, usage: { inputTokens: 0 } });
  });

  test.for([
    ["absent", `{${RESULTS}}`],
    ["negative", `{${RESULTS},"usage":{"total_tokens":-5}}`],
    ["absurd", `{${RESULTS},"usage":{"total_tokens":900719925474}}`],
    ["beyond any number", `{${RESULTS},"usage":{"total_tokens":1e999}}`],
    ["search units alone", `{${RESULTS},"meta":{"billed_units":{"search_units":1000000}}}`],
  ] as const)("usage that is %s is replaced by the gateway's own count, and flagged (S38)", async ([, sent]) => {
    answer = sent;
    const { status, requestId } = await post({ ...ASKED, model: "scripted" });
    expect(status).toBe(200);
    const row = await onlyRow(stack(), requestId);
    // The query's 17 bytes with 15, 31 and 17: an object counts with its name.
    expect(row).toMatchObject({ isEstimated: true, usage: { inputTokens: 8 + 12 + 9 }, chargeNanoUsd: 29_000n });
  });
});

describe("searches (S28, S46)", () => {
  const billed = (meta: string) => `{"results":[{"index":0,"relevance_score":0.5}],"meta":{"billed_units":{${meta}}}}`;

  test("are charged as the server reports them, without its tokens", async () => {
    answer = billed('"search_units":1');
    const { status, headers, requestId } = await post({ ...ASKED, model: "by-search" });
    expect(status).toBe(200);
    expect(headers.get("x-gateway-cost")).toBe("0.002000000");
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: false,
      usage: { inputTokens: 8 + 12 + 9, units: 1 },
      chargeNanoUsd: 2_000_000n,
    });
    const usage = await fetch(`${stack().baseUrl}/v1/usage/${requestId}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    expect(await usage.json()).toMatchObject({ searches: 1, amount: "0.002000000", is_estimated: false });
  });

  test("are charged beside tokens by a Model that has both prices, and its price is listed (S45)", async () => {
    answer = billed('"input_tokens":40,"search_units":1');
    const { headers, requestId } = await post({ ...ASKED, model: "by-both" });
    expect(headers.get("x-gateway-cost")).toBe("0.002040000");
    expect(await onlyRow(stack(), requestId)).toMatchObject({ isEstimated: false, chargeNanoUsd: 2_040_000n });
    const model = await fetch(`${stack().baseUrl}/v1/models/by-both`, { headers: { authorization: `Bearer ${stack().apiKey}` } });
    expect(await model.json()).toMatchObject({ pricing: { prompt: "0.000001", completion: "0", search: "0.002" } });
  });

  test("of a hundred and one documents are two", async () => {
    answer = billed('"search_units":2');
    const documents = Array.from({ length: 101 }, () => "Cats eat meat.");
    const { requestId } = await post({ model: "by-search", query: QUERY, documents });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ isEstimated: false, chargeNanoUsd: 4_000_000n });
  });

  test.for([
    ["a billion", '"search_units":1000000000'],
    ["beyond any number", '"search_units":1e999'],
    ["negative", '"search_units":-1'],
    ["fractional", '"search_units":0.5'],
    ["zero", '"search_units":0'],
    ["a text", '"search_units":"1"'],
    ["absent", '"input_tokens":7'],
  ] as const)("that are %s are replaced by the gateway's own count, and flagged (S38)", async ([, meta]) => {
    answer = billed(meta);
    const { status, requestId } = await post({ ...ASKED, model: "by-search" });
    expect(status).toBe(200);
    expect(await onlyRow(stack(), requestId)).toMatchObject({
      isEstimated: true,
      usage: { units: 1 },
      chargeNanoUsd: 2_000_000n,
    });
  });

  test("of an answer that is none cost nothing", async () => {
    answer = '{"results":[{"index":9,"relevance_score":1}],"meta":{"billed_units":{"search_units":1}}}';
    const { status, requestId } = await post({ ...ASKED, model: "by-search" });
    expect(status).toBe(502);
    const row = await onlyRow(stack(), requestId);
    expect(row).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    expect(row.usage).not.toHaveProperty("units");
  });

  test("need credit before a server is called, and the refusal has both numbers (S19, S30)", async () => {
    const { apiKey } = await stack().createAccount({ name: "one-search", creditNanoUsd: 3_000_000n });
    received.delete("scripted");
    const documents = Array.from({ length: 101 }, () => "Cats eat meat.");
    const { status, text } = await post({ model: "by-search", query: QUERY, documents }, { apiKey });
    expect(status).toBe(402);
    expect(text).toContain("covers 1 search, and this request may have 2. Send fewer or shorter documents, or add credit");
    expect(received.has("scripted")).toBe(false);
  });

  test("of a client that disconnects are free within its allowance, and release their hold", async () => {
    const { apiKey } = await stack().createAccount({ name: "hasty", creditNanoUsd: 3_000_000n });
    const ended = post({ ...ASKED, model: "stalls-by-search" }, { apiKey, signal: AbortSignal.timeout(500) });
    await expect(ended).rejects.toThrow("aborted");
    await expectUnheld(apiKey, "0.003000000");
  });
});

describe("an instruction, which some servers read with each document", () => {
  const instruction = "Prefer documents about pets. ".repeat(100);

  test("is charged as the server reports it (S28)", async () => {
    answer = '{"results":[],"usage":{"total_tokens":3000}}';
    const { requestId } = await post({ ...ASKED, model: "scripted", instruction });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ isEstimated: false, chargeNanoUsd: 3_000_000n });
  });

  test("needs credit for each document (S30)", async () => {
    const { apiKey } = await stack().createAccount({ name: "modest", creditNanoUsd: 1_000_000n });
    const { status, text } = await post({ ...ASKED, instruction }, { apiKey });
    expect(status).toBe(402);
    expect(text).toContain("covers 1,000 input tokens, and this request may have 3,2");
  });
});

test("a key over its limit of tokens gets a 429 that names it, and nothing is charged (S23)", async () => {
  const { apiKey } = await stack().createAccount({ name: "limited", creditNanoUsd: 1_000_000_000n });
  const parsed = parseApiKey(apiKey);
  await setKeyLimits(stack().database, parsed.kind === "key" ? parsed.publicId : "", { tokensPerMinute: 100 });
  received.delete("simulated");
  const refused = await eventually(async () => {
    const response = await post(ASKED, { apiKey });
    expect(response.status).toBe(429);
    return response;
  });
  expect(refused.headers.get("x-ratelimit-limit-tokens")).toBe("100");
  expect(refused.text).toContain("tokens per minute");
  expect(await stack().entriesOf(refused.requestId)).toEqual([]);
});

describe("failures", () => {
  test("the next server is tried if the first one fails (S22)", async () => {
    const { status, text, requestId } = await post({ ...ASKED, model: "falls-back" });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ model: "falls-back" });
    expect(await onlyRow(stack(), requestId)).toMatchObject({ backend: "second", outcome: "complete" });
  });

  test("the server's refusal keeps its words, under the name that the client sent", async () => {
    const { status, text } = await post({ ...ASKED, model: "complains" });
    expect(status).toBe(400);
    expect(JSON.parse(text).error.message).toBe("complains: too many tokens in a document");
  });

  test("a failed request is free, and releases its hold", async () => {
    const { apiKey } = await stack().createAccount({ name: "unlucky", creditNanoUsd: 1_000_000n });
    const { status, requestId } = await post({ ...ASKED, model: "fails" }, { apiKey });
    expect(status).toBe(500);
    expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
    await expectUnheld(apiKey, "0.001000000");
  });

  test("a client that disconnects is charged nothing", async () => {
    const { apiKey } = await stack().createAccount({ name: "impatient", creditNanoUsd: 1_000_000n });
    await expect(post({ ...ASKED, model: "stalls" }, { apiKey, signal: AbortSignal.timeout(500) })).rejects.toThrow("aborted");
    await expectUnheld(apiKey, "0.001000000");
  });

  test("a request that the credit does not cover is refused with the numbers, before any server is called (S19, S37)", async () => {
    const { apiKey } = await stack().createAccount({ name: "poor", creditNanoUsd: 50_000n });
    received.delete("simulated");
    const { status, text, headers } = await post(ASKED, { apiKey });
    expect(status).toBe(402);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(text).toMatch(
      /covers 50 input tokens, and this request may have 3\d\d\. Send fewer or shorter documents, or add credit/,
    );
    expect(received.has("simulated")).toBe(false);
  });

  test("a key without credit is refused before its body is read", async () => {
    const { apiKey } = await stack().createAccount({ name: "empty", creditNanoUsd: 0n });
    const { status, text } = await post("not even JSON", { apiKey });
    expect(status).toBe(402);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "insufficient_balance" } });
  });
});

async function expectUnheld(apiKey: string, available: string): Promise<void> {
  await eventually(async () => {
    const response = await fetch(`${stack().baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await response.json()).toMatchObject({ available, held: "0.000000000" });
  });
}
