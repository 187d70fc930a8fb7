import { expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import { findEndpoint, protocolOf } from "../../../../extproc/route/endpoint.ts";

const post = (path: string) => ({ method: "POST", path, hasVersion: false });
const get = (path: string) => ({ method: "GET", path, hasVersion: false });

function refusalOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test.for([
  ["/v1/chat/completions", { kind: "generate", protocol: "chat" }],
  ["/v1/chat/completions/", { kind: "generate", protocol: "chat" }],
  ["/v1/messages", { kind: "generate", protocol: "messages" }],
  ["/v1/messages?beta=true", { kind: "generate", protocol: "messages" }],
  ["/v1/messages/count_tokens?beta=true", { kind: "count_tokens", protocol: "messages" }],
  ["/v1/responses", { kind: "generate", protocol: "responses" }],
] as const)("POST %s is served (S1)", ([path, endpoint]) => {
  expect(findEndpoint(post(path))).toEqual(endpoint);
});

test("the model list uses the Messages format if a version header is present, OpenAI's otherwise (S10)", () => {
  expect(findEndpoint(get("/v1/models"))).toEqual({ kind: "models", id: null, protocol: "chat" });
  expect(findEndpoint({ ...get("/v1/models"), hasVersion: true })).toEqual({ kind: "models", id: null, protocol: "messages" });
  expect(findEndpoint(get("/v1/models/acme%2Flarge"))).toEqual({ kind: "models", id: "acme/large", protocol: "chat" });
});

test("a path says whether a form is sent, and what is in it (S46, S54)", () => {
  const sent = { kind: "generate", protocol: "image_generation" };
  expect(findEndpoint(post("/v1/images/generations"))).toEqual(sent);
  expect(findEndpoint(post("/v1/images/edits/?a=b"))).toEqual({ ...sent, form: "edit" });
  for (const path of ["/v1/audio/transcriptions", "/v1/audio/translations"])
    expect(findEndpoint(post(path))).toEqual({ kind: "generate", protocol: "transcription", form: "recording" });
});

test.for(["/v1/v1/messages", "/v1/v1/chat/completions", "//v1/v1/messages"])(
  "%s is an error that names the extra /v1 (S20)",
  (path) => {
    const refusal = refusalOf(() => findEndpoint(post(path)));
    expect(refusal.code).toBe("not_found");
    expect(refusal.message).toContain("one `/v1` too many");
  },
);

test.for([
  ["/v1/v1/messages", "messages"],
  ["/v1/messages/batches", "messages"],
  ["/messages", "messages"],
  ["/v1/messagesx", "chat"],
  ["/v1/embeddings", "chat"],
  ["/v1/rerank", "chat"],
  ["/v2/rerank", "chat"],
  ["/v1/images/generations", "chat"],
  ["/v1/chat/completions", "chat"],
] as const)("an error about %s has the format for %s clients (S20)", ([path, protocol]) => {
  expect(protocolOf(post(path))).toBe(protocol);
});

test("a wrong method is 405 and names the right one (S20)", () => {
  const refusal = refusalOf(() => findEndpoint(get("/v1/chat/completions")));
  expect(refusal.status).toBe(405);
  expect(refusal.headers).toEqual({ allow: "POST", "x-should-retry": "false" });
  expect(refusalOf(() => findEndpoint(post("/v1/models"))).headers).toEqual({ allow: "GET, HEAD", "x-should-retry": "false" });
});

test.for([
  ["/v1/files", "GET, HEAD, POST"],
  ["/v1/files/file-1/", "DELETE, GET, HEAD"],
  ["/v1/files/file-1/content?x=1", "GET, HEAD"],
  ["/v1/batches", "GET, HEAD, POST"],
  ["/v1/batches/batch_1", "GET, HEAD"],
  ["/v1/batches/batch_1/cancel", "POST"],
  ["/v1/messages/batches", "GET, HEAD, POST"],
  ["/v1/messages/batches/msgbatch_1", "DELETE, GET, HEAD"],
  ["/v1/messages/batches/msgbatch_1/results", "GET, HEAD"],
  ["/v1/messages/batches/msgbatch_1/cancel", "POST"],
] as const)("OPTIONS on the dashboard's %s is 405 with `allow`, as everywhere (S20, S58)", ([path, allow]) => {
  const refusal = refusalOf(() => findEndpoint({ method: "OPTIONS", path, hasVersion: false }));
  expect(refusal).toMatchObject({ status: 405, headers: { allow } });
  expect(refusalOf(() => findEndpoint({ method: "OPTIONS", path: "/v1/files/a/b", hasVersion: false })).status).toBe(404);
});

test.for([
  ["/chat/completions", "`/v1` is missing. Send POST /v1/chat/completions."],
  ["/messages", "`/v1` is missing. Send POST /v1/messages."],
  ["/responses", "`/v1` is missing. Send POST /v1/responses."],
  ["/models", "`/v1` is missing. Send GET /v1/models."],
  ["/v1//messages", "Send POST /v1/messages, in lower case and with single slashes."],
  ["/V1/Chat/Completions", "Send POST /v1/chat/completions"],
  ["/v1/messages/v1/messages", "an extra prefix before POST /v1/messages."],
  ["/v1/chat/completions/chat/completions", "an extra prefix before POST /v1/chat/completions."],
  ["/openai/v1/responses", "an extra prefix before POST /v1/responses."],
  ["/anthropic/v1/messages/count_tokens", "an extra prefix before POST /v1/messages/count_tokens."],
  ["/v1/completions", "Text completions are not supported. POST to /v1/chat/completions."],
  ["/v1/complete", "POST to /v1/messages."],
  ["/embeddings", "`/v1` is missing. Send POST /v1/embeddings."],
  ["/rerank", "`/v1` is missing. Send POST /v1/rerank."],
  ["/api/embed", "POST to /v1/embeddings."],
  ["/images/edits", "`/v1` is missing. Send POST /v1/images/edits."],
  ["/openai/v1/images/edits", "an extra prefix before POST /v1/images/edits."],
  ["/v1/images/variations", "Variations of images are not supported. POST /v1/images/edits"],
  ["/v1/images", "That part of the interface is not supported"],
  ["/v1/videos", "That part of the interface is not supported"],
  ["/v1/messages/batches", "on a gateway with a dashboard"],
  ["/files", "Files and batches are at exactly /v1/files"],
  ["/v1//batches", "Files and batches are at exactly /v1/files"],
  ["/responses/input_tokens", "`/v1` is missing. Send POST /v1/responses/input_tokens."],
  ["/v1/responses/compact", "Compacting conversations is not supported"],
  ["/v1/responses/resp_1/cancel", "There is nothing to cancel: responses are not created in the background"],
  ["/v1/responses/resp_1", "No model here stores responses"],
  ["/v1beta/models/gemini:generateContent", "Gemini's interface is not supported."],
  ["/openai/deployments/x/chat/completions", "Deployment addresses belong to another service."],
  ["/api/chat", "Ollama's own interface is not supported."],
  ["/api/version", "Ollama's own interface is not supported."],
  ["/v2/chat", "Cohere's chat is not supported. POST to /v1/chat/completions."],
  ["/v2/embed", "POST to /v1/embeddings."],
  ["/v1/chat/completions/chatcmpl-1", "Chat completions are not stored."],
  ["/v1/conversations", "Conversations are not stored. POST /v1/responses with the whole conversation"],
  ["/v1/conversations/conv_1/items", "Conversations are not stored."],
  ["/v1/organizations/me", "GET /v1/balance and GET /v1/usage"],
  ["/v1/organization/usage/completions", "GET /v1/balance and GET /v1/usage"],
  ["/v1/credits", "GET /v1/balance and GET /v1/usage"],
  ["/healthz", "Send GET / instead: it needs no key"],
  ["/v1", "Send GET / instead: it needs no key"],
  ["/v1/message", "Send POST /v1/messages."],
  ["/v1/chat/completion", "Send POST /v1/chat/completions."],
  ["/v1/batch", "Files and batches are at exactly /v1/files"],
  ["/V1/Files", "Files and batches are at exactly /v1/files"],
  ["/v1/message_batches", "Files and batches are at exactly /v1/files"],
  ["/v1/skills", "That part of the interface is not supported"],
  ["/robots.txt", "Available: POST /v1/chat/completions, POST /v1/messages,"],
  ["/robots.txt", "With a dashboard also /v1/files, /v1/batches and /v1/messages/batches."],
] as const)("%s is a 404 that names the intended path (S20)", ([path, sentence]) => {
  const refusal = refusalOf(() => findEndpoint(post(path)));
  expect(refusal.status).toBe(404);
  expect(refusal.message).toContain(sentence);
});

test("a stored response is read and deleted by its id, if a Model stores them", () => {
  const line = { path: "/v1/responses/resp_1?stream=true", hasVersion: false, storesResponses: true };
  const endpoint = {
    kind: "stored_response",
    protocol: "chat",
    part: "response",
    id: "resp_1",
    query: new URLSearchParams("stream=true"),
  };
  expect(findEndpoint({ ...line, method: "GET" })).toEqual({ ...endpoint, method: "GET" });
  expect(findEndpoint({ ...line, method: "HEAD" })).toEqual({ ...endpoint, method: "GET" });
  expect(findEndpoint({ ...line, method: "DELETE" })).toEqual({ ...endpoint, method: "DELETE" });
  expect(refusalOf(() => findEndpoint({ ...line, method: "POST" })).headers["allow"]).toBe("GET, HEAD, DELETE");
  for (const path of ["/v1/responses/compact", "/v1/responses/resp_1/cancel"])
    expect(refusalOf(() => findEndpoint({ ...line, method: "GET", path })).status).toBe(404);
  expect(refusalOf(() => findEndpoint({ ...line, method: "GET", path: "/v1/responses/input_tokens" })).status).toBe(405);
});

test("the input items of a stored response are read, if a Model stores them", () => {
  const line = { path: "/v1/responses/resp_1/input_items?limit=5", hasVersion: false, storesResponses: true };
  expect(findEndpoint({ ...line, method: "GET" })).toMatchObject({ kind: "stored_response", part: "input_items", id: "resp_1" });
  expect(refusalOf(() => findEndpoint({ ...line, method: "DELETE" })).headers["allow"]).toBe("GET, HEAD");
  const refused = refusalOf(() => findEndpoint({ ...line, method: "GET", storesResponses: false }));
  expect([refused.status, refused.message]).toEqual([404, expect.stringContaining("No model here stores responses")]);
});
