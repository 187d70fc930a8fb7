import Anthropic, { APIError as AnthropicError } from "@anthropic-ai/sdk";
import OpenAI, { APIError as OpenAIError } from "openai";
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { makeBackendManifests } from "../support/stacks/backend-manifests.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/**
 * What users of the official SDKs see if a model server is silent for a while, and then breaks off or refuses (S22, S41): the
 * keep-alive disturbs nobody, and the error is the SDK's own, not an exception of its HTTP library.
 */
let stack: TestProduct;
let packages: ClientPackages;
let server: Server;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;

const MODEL = "breaks-off";
/** Refuses the request after the gateway has answered 200. */
const LATE = "fails-late";
/** Longer than the Model's keep-alive. */
const SILENT_MS = 2_500;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  server = createServer((request, response) => {
    request.resume();
    if (request.url?.startsWith("/late") === true) {
      const error = { message: "Too many requests of this kind.", type: "rate_limit_error" };
      setTimeout(() => {
        response.writeHead(429, { "content-type": "application/json", "retry-after": "1" }).end(JSON.stringify({ error }));
      }, SILENT_MS);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
    const choice = { index: 0, delta: { role: "assistant", content: "one two three" }, finish_reason: null };
    response.write(`data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`);
    setTimeout(() => request.socket.resetAndDestroy(), SILENT_MS);
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  const backend = { name: "only", protocol: "chat", url: `http://127.0.0.1:${address.port}` } as const;
  const late = { ...backend, url: `${backend.url}/late` };
  manifests = await makeBackendManifests([
    { name: MODEL, backends: [backend], streaming: { keepAlive: "1s" } },
    { name: LATE, backends: [late], streaming: { keepAlive: "1s", answerAfter: "1s" } },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack.stop();
  server.closeAllConnections();
  server.close();
  await manifests.remove();
});

const ERROR = /The model server(?: stopped in the middle of its answer|'s answer ended before it was complete)/;

const seenSchema = z.strictObject({
  text: z.string(),
  error: z.strictObject({ type: z.string(), message: z.string() }).nullable(),
});

/** What Python's SDKs saw of each model: by the model's name and the SDK's. */
let seenInPython: Record<string, Record<string, z.infer<typeof seenSchema>>>;
beforeAll(async () => {
  const program = path.join(import.meta.dirname, "python/broken_stream.py");
  const parameters = [program, stack.baseUrl, stack.apiKey, MODEL, LATE];
  const { stdout } = await promisify(execFile)(packages.sdkProgram("python"), parameters);
  seenInPython = z.record(z.string(), z.record(z.string(), seenSchema)).parse(JSON.parse(stdout));
});

const SDKS = ["openai", "openai-responses", "anthropic"];

test.for(SDKS)("Python: %s raises its own error after the text", (sdk) => {
  const { text, error } = seenInPython[MODEL]?.[sdk] ?? {};
  expect(text).toBe("one two three");
  expect(error?.type).toMatch(/^(APIError|APIStatusError|InternalServerError)$/);
  expect(error?.message).toMatch(ERROR);
});

test("Node: openai throws its own error after the text", async () => {
  const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: MODEL,
    stream: true,
    messages: [{ role: "user", content: "Hello" }],
  });
  let text = "";
  const error: unknown = await (async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  })().catch((thrown: unknown) => thrown);
  expect(text).toBe("one two three");
  expect(error).toBeInstanceOf(OpenAIError);
  expect(String(error)).toMatch(ERROR);
});

test("Node: anthropic throws its own error after the text", async () => {
  const client = new Anthropic({ baseURL: stack.baseUrl, apiKey: stack.apiKey, maxRetries: 0 });
  let text = "";
  const stream = client.messages.stream({ model: MODEL, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] });
  stream.on("text", (piece) => (text += piece));
  const error: unknown = await stream.finalMessage().catch((thrown: unknown) => thrown);
  expect(text).toBe("one two three");
  expect(error).toBeInstanceOf(AnthropicError);
  expect(String(error)).toMatch(ERROR);
});

const LATE_ERROR = /too many requests|not accepting requests|rate limit/i;

test.for(SDKS)("Python: %s raises its own error for one that follows a 200", (sdk) => {
  const { text, error } = seenInPython[LATE]?.[sdk] ?? {};
  expect(text).toBe("");
  expect(error?.message).toMatch(LATE_ERROR);
});

test("Node: openai throws its own error for one that follows a 200", async () => {
  const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey });
  const stream = await client.chat.completions.create({
    model: LATE,
    stream: true,
    messages: [{ role: "user", content: "Hello" }],
  });
  let chunks = 0;
  const error: unknown = await (async () => {
    for await (const _ of stream) chunks += 1;
  })().catch((thrown: unknown) => thrown);
  expect(chunks).toBe(0);
  expect(error).toBeInstanceOf(OpenAIError);
  expect(String(error)).toMatch(LATE_ERROR);
});

test("Node: anthropic throws its own error for one that follows a 200", async () => {
  const client = new Anthropic({ baseURL: stack.baseUrl, apiKey: stack.apiKey });
  const stream = client.messages.stream({ model: LATE, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] });
  const error: unknown = await stream.finalMessage().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AnthropicError);
  expect(String(error)).toMatch(LATE_ERROR);
});
