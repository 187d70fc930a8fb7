import { wavFile } from "../../support/dashboard/forms.ts";
import { copyFile } from "node:fs/promises";
import nodePath from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { makeManifests, SIMULATOR_URLS } from "../../support/stacks/manifests-folder.ts";
import { readOpenapi, type OpenapiDocument } from "../../support/dashboard/openapi.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** The product's real answers, compared with docs/openapi.yaml. */
let stack: TestProduct;
let document: OpenapiDocument;
let manifests: Awaited<ReturnType<typeof makeManifests>>;
/** Of a response that was stored. */
let storedPath: string;
/** Of a request that is settled. */
let settledPath: string;
let emptyKey: string;
beforeAll(async () => {
  document = await readOpenapi();
  manifests = await makeManifests([{ name: "storing", upstream: "chat", url: SIMULATOR_URLS.chat, storeHours: 1 }]);
  await copyFile(
    nodePath.join(import.meta.dirname, "../../../local/manifests/models.yaml"),
    nodePath.join(manifests.directory, "samples.yaml"),
  );
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
  storedPath = `/v1/responses/${await storeResponse()}`;
  settledPath = `/v1/usage/${await settleRequest()}`;
  emptyKey = (await stack.createAccount({ name: "no-credit", creditNanoUsd: 0n })).apiKey;
});
afterAll(async () => {
  await stack.stop();
  await manifests.remove();
});

async function settleRequest(): Promise<string> {
  const answer = await send({ id: "createChatCompletion", body: chat });
  await answer.text();
  const requestId = answer.headers.get("x-request-id") ?? "";
  await stack.usageOf(requestId);
  return requestId;
}

async function storeResponse(): Promise<string> {
  const answer = await send({ id: "createResponse", body: { model: "storing", input: "Hello" } });
  return z.object({ id: z.string() }).parse(await answer.json()).id;
}

const VERSION = { "anthropic-version": "2023-06-01" };
const messages = [{ role: "user", content: "Hello" }];
const failing = [{ role: "user", content: "[[sim status=500]] Hello" }];
const chat = { model: "modelx-v4-pro", messages };
const message = { model: "modelx-v4-flash", max_tokens: 50, messages };
const response = { model: "modelx-v4-pro", input: "Hello" };
const embedding = { model: "modelx-embed", input: ["Hello", "Good morning"] };
const image = { model: "modelx-image", prompt: "Hello" };
const speech = { model: "modelx-speech", voice: "alloy", input: "Hello" };
const form = { model: "modelx-transcribe", file: wavFile(1, 8_000) };
const edit = { model: "modelx-image", prompt: "Hello", image: Buffer.from("a picture") };
const ranking = { model: "modelx-rerank", query: "Hello", documents: ["Hello", { text: "Good morning" }] };

interface Case {
  id: string;
  status: number;
  /** Its fields, in place of a body. */
  form?: Readonly<Record<string, string | Buffer>>;
  body?: unknown;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  key?: "none" | "empty";
}

const CASES: readonly Case[] = [
  { id: "createChatCompletion", status: 200, body: chat },
  { id: "createChatCompletion", status: 200, body: { ...chat, model: "modelx-v4-flash", seed: 3 } },
  { id: "createChatCompletion", status: 400, body: { model: "modelx-v4-pro" } },
  { id: "createChatCompletion", status: 400, body: "{" },
  { id: "createChatCompletion", status: 401, body: chat, key: "none" },
  { id: "createChatCompletion", status: 402, body: chat, key: "empty" },
  { id: "createChatCompletion", status: 404, body: { ...chat, model: "gpt-4o" } },
  { id: "createChatCompletion", status: 405, method: "GET" },
  { id: "createChatCompletion", status: 413, body: " ".repeat(33 * 1024 * 1024) },
  { id: "createChatCompletion", status: 500, body: { ...chat, messages: failing } },
  { id: "createMessage", status: 200, body: message },
  { id: "createMessage", status: 200, body: { ...message, model: "modelx-v4-pro", metadata: { user_id: "someone" } } },
  { id: "createMessage", status: 400, body: { ...message, max_tokens: "many" } },
  { id: "createMessage", status: 400, body: message, headers: { "anthropic-version": "1999-01-01" } },
  { id: "createMessage", status: 401, body: message, key: "none" },
  { id: "createMessage", status: 402, body: message, key: "empty" },
  { id: "createMessage", status: 404, body: { ...message, model: "modelx-chat" } },
  { id: "createMessage", status: 405, method: "PUT", body: message },
  { id: "createMessage", status: 500, body: { ...message, messages: failing } },
  { id: "countTokens", status: 200, body: { model: "modelx-v4-flash", messages } },
  { id: "countTokens", status: 200, body: { model: "modelx-v4-pro", messages } },
  { id: "countTokens", status: 400, body: [] },
  { id: "countTokens", status: 401, body: message, key: "none" },
  { id: "countResponseTokens", status: 200, body: response },
  { id: "countResponseTokens", status: 400, body: { ...response, previous_response_id: "resp_1" } },
  { id: "countResponseTokens", status: 401, body: response, key: "none" },
  { id: "countResponseTokens", status: 404, body: { ...response, model: "modelx-v4-flash" } },
  { id: "createEmbedding", status: 200, body: embedding },
  { id: "createEmbedding", status: 200, body: { ...embedding, encoding_format: "base64", dimensions: 8 } },
  { id: "createEmbedding", status: 400, body: { ...embedding, dimensions: 0 } },
  { id: "createEmbedding", status: 401, body: embedding, key: "none" },
  { id: "createEmbedding", status: 402, body: embedding, key: "empty" },
  { id: "createEmbedding", status: 404, body: { ...embedding, model: "modelx-v4-pro" } },
  { id: "createEmbedding", status: 405, method: "GET" },
  { id: "createEmbedding", status: 500, body: { ...embedding, input: "[[sim status=500]] Hello" } },
  { id: "createRanking", status: 200, body: ranking },
  { id: "createRanking", status: 200, body: { ...ranking, top_n: 1, return_documents: true, usage: { include: true } } },
  { id: "createRanking", status: 400, body: { ...ranking, documents: [] } },
  { id: "createRanking", status: 401, body: ranking, key: "none" },
  { id: "createRanking", status: 402, body: ranking, key: "empty" },
  { id: "createRanking", status: 404, body: { ...ranking, model: "modelx-v4-pro" } },
  { id: "createRanking", status: 405, method: "GET" },
  { id: "createRanking", status: 500, body: { ...ranking, query: "[[sim status=500]] Hello" } },
  { id: "createRankingV2", status: 200, body: ranking },
  { id: "createRankingV2", status: 400, body: { ...ranking, query: "" } },
  { id: "createImages", status: 200, body: image },
  { id: "createImages", status: 200, body: { ...image, n: 2, size: "1024x1024", quality: "low", usage: { include: true } } },
  { id: "createImages", status: 400, body: { ...image, n: 11 } },
  { id: "createImages", status: 401, body: image, key: "none" },
  { id: "createImages", status: 402, body: image, key: "empty" },
  { id: "createImages", status: 404, body: { ...image, model: "modelx-v4-pro" } },
  { id: "createImages", status: 405, method: "GET" },
  { id: "createImages", status: 500, body: { ...image, prompt: "[[sim status=500]] Hello" } },
  { id: "editImages", status: 200, form: edit },
  { id: "editImages", status: 200, form: { ...edit, mask: edit.image, n: "2", size: "1024x1024", quality: "low" } },
  { id: "editImages", status: 400, form: { ...edit, n: "11" } },
  { id: "editImages", status: 400, form: { model: edit.model, prompt: edit.prompt } },
  { id: "editImages", status: 401, form: edit, key: "none" },
  { id: "editImages", status: 402, form: edit, key: "empty" },
  { id: "editImages", status: 404, form: { ...edit, model: "modelx-v4-pro" } },
  { id: "editImages", status: 405, method: "GET" },
  { id: "editImages", status: 500, form: { ...edit, prompt: "[[sim status=500]] Hello" } },
  { id: "createSpeech", status: 400, body: { ...speech, input: "" } },
  { id: "createSpeech", status: 401, body: speech, key: "none" },
  { id: "createSpeech", status: 402, body: { ...speech, input: "Hello ".repeat(1_000) }, key: "empty" },
  { id: "createSpeech", status: 404, body: { ...speech, model: "modelx-v4-pro" } },
  { id: "createSpeech", status: 405, method: "GET" },
  { id: "createSpeech", status: 500, body: { ...speech, input: "[[sim status=500]] Hello" } },
  { id: "createTranscription", status: 200, form },
  { id: "createTranscription", status: 400, form: { model: form.model } },
  { id: "createTranscription", status: 401, form, key: "none" },
  { id: "createTranscription", status: 402, form: { ...form, file: wavFile(600, 1_000) }, key: "empty" },
  { id: "createTranscription", status: 404, form: { ...form, model: "modelx-v4-pro" } },
  { id: "createTranscription", status: 405, method: "GET" },
  { id: "createTranslation", status: 200, form },
  { id: "createTranslation", status: 400, form: { file: form.file } },
  { id: "createResponse", status: 200, body: response },
  { id: "createResponse", status: 400, body: { ...response, previous_response_id: "resp_1" } },
  { id: "createResponse", status: 401, body: response, key: "none" },
  { id: "createResponse", status: 402, body: response, key: "empty" },
  { id: "createResponse", status: 404, body: { ...response, model: "modelx-v4-flash" } },
  { id: "getResponse", status: 200, path: "stored" },
  { id: "getResponse", status: 401, path: "/v1/responses/resp_1", key: "none" },
  { id: "getResponse", status: 404, path: "/v1/responses/resp_1" },
  { id: "listInputItems", status: 200, path: "items" },
  { id: "listInputItems", status: 400, path: "badItems" },
  { id: "listInputItems", status: 401, path: "/v1/responses/resp_1/input_items", key: "none" },
  { id: "listInputItems", status: 404, path: "/v1/responses/resp_1/input_items" },
  { id: "deleteResponse", status: 200, path: "stored" },
  { id: "deleteResponse", status: 404, path: "/v1/responses/resp_1" },
  { id: "listModels", status: 200 },
  { id: "listModels", status: 200, headers: VERSION },
  { id: "listModels", status: 401, key: "none" },
  { id: "listModels", status: 401, key: "none", headers: VERSION },
  { id: "getModel", status: 200, path: "/v1/models/modelx-v4-pro" },
  { id: "getModel", status: 200, path: "/v1/models/modelx-v4-pro", headers: VERSION },
  { id: "getModel", status: 404, path: "/v1/models/gpt-4o" },
  { id: "getBalance", status: 200 },
  { id: "getBalance", status: 401, key: "none" },
  { id: "getUsage", status: 200, path: "/v1/usage?from=2026-11-01&to=2026-11-30" },
  { id: "getUsage", status: 400, path: "/v1/usage?from=yesterday" },
  { id: "getUsage", status: 200, path: "/v1/usage?group_by=end_user&limit=5" },
  { id: "getUsage", status: 400, path: "/v1/usage?group_by=team" },
  { id: "getRequestUsage", status: 200, path: "settled" },
  { id: "getRequestUsage", status: 404, path: "/v1/usage/0199d8a0-0000-7000-8000-000000000001" },
  { id: "getRequestUsage", status: 401, path: "/v1/usage/0199d8a0-0000-7000-8000-000000000001", key: "none" },
  { id: "getAddresses", status: 200, key: "none" },
];

test.for(CASES)("$id answers $status as described", async ({ id, status, body, form, path, method, headers = {}, key }) => {
  const storedPaths: Record<string, string> = {
    stored: storedPath,
    settled: settledPath,
    items: `${storedPath}/input_items?limit=1`,
    badItems: `${storedPath}/input_items?limit=0`,
  };
  const answer = await send({ id, body, form, path: storedPaths[path ?? ""] ?? path, method, headers, key });
  expect(answer.status, await answer.clone().text()).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const validate = document.validatorOf(operation(id), status);
  validate(await answer.json());
  expect(validate.errors ?? []).toEqual([]);
  const promised = document.requiredHeaders(operation(id), status);
  expect(promised).toEqual(["x-request-id", "request-id"]);
  expect(promised.map((name) => answer.headers.get(name)?.length)).toEqual([36, 36]);
});

test("usage has a row once a request is settled, as described", async () => {
  await stack.idle();
  const answer = await send({ id: "getUsage", path: "/v1/usage" });
  const text = await answer.text();
  expect(text).toContain('"model":"modelx-v4-pro"');
  const validate = document.validatorOf(operation("getUsage"), 200);
  validate(JSON.parse(text));
  expect(validate.errors ?? []).toEqual([]);
});

test.for(["createChatCompletion", "createMessage", "createResponse"])("%s streams events, as described", async (id) => {
  const bodies: Record<string, object> = { createChatCompletion: chat, createMessage: message, createResponse: response };
  const answer = await send({ id, body: { ...bodies[id], stream: true } });
  expect(answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
  expect(await answer.text()).toMatch(/^(data|event): /);
});

test.for([
  ["audio/wav", {}],
  ["audio/pcm", { response_format: "pcm", speed: 1.5 }],
  ["text/event-stream; charset=utf-8", { stream_format: "sse", usage: { include: true } }],
] as const)("createSpeech answers with %s, as described", async ([type, fields]) => {
  const answer = await send({ id: "createSpeech", body: { ...speech, ...fields } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe(type);
  expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(0);
  const promised = document.requiredHeaders(operation("createSpeech"), 200);
  expect(promised.map((name) => answer.headers.get(name)?.length)).toEqual([36, 36]);
});

/** test/envoy/batches/openapi.test.ts calls those for batches. */
test("every other operation of the document was called, with success and failure", () => {
  const called = new Set(["createSpeech true", ...CASES.map(({ id, status }) => `${id} ${status < 300}`)]);
  const operations = document.operations
    .filter(({ tags }) => !tags.includes("batches"))
    .flatMap(({ id }) => [`${id} true`, ...(id === "getAddresses" ? [] : [`${id} false`])]);
  expect([...called].toSorted()).toEqual(operations.toSorted());
});

function operation(id: string) {
  const found = document.operations.find((each) => each.id === id);
  if (found === undefined) throw new Error(`the document has no operation ${id}`);
  return found;
}

function send({ id, body, form, path, method, headers = {}, key }: Partial<Case> & { id: string }): Promise<Response> {
  const { path: documented, method: usual } = operation(id);
  const keys = { none: undefined, empty: emptyKey, own: stack.apiKey };
  const credential = keys[key ?? "own"];
  return fetch(stack.baseUrl + (path ?? documented), {
    method: method ?? usual,
    headers: {
      ...(form === undefined ? { "content-type": "application/json" } : {}),
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(form === undefined ? {} : { body: formOf(form) }),
  });
}

function formOf(fields: NonNullable<Case["form"]>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields))
    data.set(name, typeof value === "string" ? value : new File([new Uint8Array(value)], "a.bin"));
  return data;
}
