import type { ServerResponse } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** A model server that compresses, although `identity` was requested. */
let upstream: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
let respond: (response: ServerResponse) => void;

beforeAll(async () => {
  upstream = await startRecordingUpstream((_request, response) => respond(response));
  const url = `http://127.0.0.1:${upstream.port}`;
  manifests = await makeBackendManifests([
    { name: "as-chat", backends: [{ name: "only", protocol: "chat", url }] },
    { name: "as-messages", backends: [{ name: "only", protocol: "messages", url }] },
  ]);
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.stop();
  await manifests?.remove();
});

const PATHS = [
  { path: "/v1/chat/completions", model: "as-chat" },
  { path: "/v1/chat/completions", model: "as-messages" },
  { path: "/v1/messages", model: "as-chat" },
  { path: "/v1/messages", model: "as-messages" },
] as const;
const ANSWERS = {
  "as-chat": JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "as-chat",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  }),
  "as-messages": JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "as-messages",
    content: [{ type: "text", text: "Hello." }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  }),
};

function answerWith(status: number, coding: string, body: Buffer, type = "application/json"): void {
  respond = (response) => response.writeHead(status, { "content-type": type, "content-encoding": coding }).end(body);
}

function post(path: string, body: object): Promise<Response> {
  return fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello." }], ...body }),
  });
}

async function ask({ path, model, stream = false }: { path: string; model: string; stream?: boolean }) {
  const response = await post(path, { model, max_tokens: 64, stream });
  const { status, headers } = response;
  return { status, headers, text: await response.text(), usage: () => stack.usageOf(headers.get("x-request-id") ?? "") };
}

test.for(PATHS.flatMap((one) => [true, false].map((stream) => ({ ...one, stream }))))(
  "$path, $model, stream: $stream: a compressed JSON answer is decoded, and charged like any other",
  async ({ path, model, stream }) => {
    answerWith(200, "gzip", gzipSync(ANSWERS[model]));
    const { status, headers, text, usage } = await ask({ path, model, stream });
    expect(text).toContain("Hello.");
    expect(status).toBe(200);
    expect(headers.get("content-encoding")).toBeNull();
    expect(headers.get("content-type")).toBe(stream ? "text/event-stream" : "application/json");
    expect(await usage()).toMatchObject([{ outcome: "complete", httpStatus: 200, usage: { inputTokens: 5, outputTokens: 2 } }]);
  },
);

test.for([
  ["GZIP", gzipSync],
  ["deflate", deflateSync],
  ["deflate", deflateRawSync],
  ["br", brotliCompressSync],
  ["zstd", (text: string) => zstdCompressSync(text)],
] as const)("%s is decoded", async ([coding, compress]) => {
  answerWith(200, coding, compress(ANSWERS["as-chat"]));
  const { status, text } = await ask({ path: "/v1/messages", model: "as-chat" });
  expect(text).toContain("Hello.");
  expect(status).toBe(200);
});

test.for(PATHS)("$path, $model: the reason of a compressed error reaches the caller (S22)", async ({ path, model }) => {
  const error = { type: "invalid_request_error", message: "temperature must be below 2" };
  answerWith(400, "gzip", gzipSync(JSON.stringify({ type: "error", error })));
  const { status, text } = await ask({ path, model });
  expect(text).toContain("temperature must be below 2");
  expect(status).toBe(400);
});

test("an error that cannot be decoded keeps its status", async () => {
  answerWith(400, "gzip", Buffer.from("this is no gzip"));
  const { status, text } = await ask({ path: "/v1/messages", model: "as-chat" });
  expect(text).toContain("gave no reason");
  expect(status).toBe(400);
});

test.for([
  ["the server's own count", gzipSync('{"input_tokens":4321}'), 4321],
  ["the estimate if it is no gzip", Buffer.from("this is no gzip"), 7],
] as const)("a compressed count of tokens is answered with %s (S16)", async ([, body, tokens]) => {
  answerWith(200, "gzip", body);
  const response = await post("/v1/messages/count_tokens", { model: "as-messages" });
  expect(await response.json()).toEqual({ input_tokens: tokens });
  expect(response.headers.get("content-encoding")).toBeNull();
});

test("the reason of a compressed error about a token count reaches the caller (S22)", async () => {
  const error = { type: "invalid_request_error", message: "messages: at most 100,000" };
  answerWith(400, "gzip", gzipSync(JSON.stringify({ type: "error", error })));
  const response = await post("/v1/messages/count_tokens", { model: "as-messages" });
  expect(await response.text()).toContain("at most 100,000");
  expect(response.status).toBe(400);
});

const BOMB = gzipSync(Buffer.alloc(33 * 1024 * 1024, " "));
test.for([
  ["a bomb", "gzip", BOMB],
  ["half of an answer", "gzip", gzipSync(ANSWERS["as-chat"]).subarray(0, 40)],
  ["bytes of another coding", "br", Buffer.from("this is no brotli")],
  ["a coding that nobody decodes", "compress", Buffer.from("lzw")],
  ["several codings", "gzip, br", brotliCompressSync(gzipSync(ANSWERS["as-chat"]))],
] as const)("%s (%s) is a free 502", async ([, coding, body]) => {
  answerWith(200, coding, body);
  const { status, text, usage } = await ask({ path: "/v1/messages", model: "as-chat" });
  expect(text).toContain("compressed");
  expect(status).toBe(502);
  expect(await usage()).toEqual([expect.objectContaining({ outcome: "failed", httpStatus: 502, chargeNanoUsd: 0n })]);
});

test.for(PATHS)(
  "$path, $model: a compressed stream, which cannot be metered as it arrives, is a free 502, and no byte of it is passed on (S22)",
  async ({ path, model }) => {
    const events = 'data: {"choices":[{"index":0,"delta":{"content":"Hello."}}]}\n\ndata: [DONE]\n\n';
    answerWith(200, "gzip", gzipSync(events), "text/event-stream");
    const { status, headers, text, usage } = await ask({ path, model, stream: true });
    expect(text).toContain("compressed");
    expect(status).toBe(502);
    expect(headers.get("content-type")).toBe("application/json");
    expect(await usage()).toEqual([expect.objectContaining({ outcome: "failed", httpStatus: 502, chargeNanoUsd: 0n })]);
  },
);
