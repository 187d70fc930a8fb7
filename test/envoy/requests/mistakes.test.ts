import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isInputInterface, type Interface } from "../../../contract/protocol.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Common mistakes of people and tools during setup: each answer names the remedy, in the caller's shape. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n });
});
afterAll(() => stack.stop());

const INTERFACES = [
  { name: "chat", path: "/v1/chat/completions" },
  { name: "messages", path: "/v1/messages" },
  { name: "responses", path: "/v1/responses" },
  { name: "embeddings", path: "/v1/embeddings" },
  { name: "rerank", path: "/v1/rerank" },
  { name: "image_generation", path: "/v1/images/generations" },
  { name: "speech", path: "/v1/audio/speech" },
] as const;

/** Those whose requests are JSON: test/envoy/operations/transcriptions.test.ts has the mistakes of forms. */
type JsonInterface = Exclude<Interface, "transcription">;

const QUESTION = [{ role: "user", content: "Hi." }];
const BODIES = {
  chat: { model: "modelx-v4-pro", messages: QUESTION },
  messages: { model: "modelx-v4-pro", max_tokens: 16, messages: QUESTION },
  responses: { model: "modelx-v4-pro", input: QUESTION },
  embeddings: { model: "modelx-embed", input: "Hi." },
  rerank: { model: "modelx-rerank", query: "Hi.", documents: ["Hello."] },
  image_generation: { model: "modelx-image", prompt: "Hi." },
  speech: { model: "modelx-speech", voice: "alloy", input: "Hi." },
} as const satisfies Record<JsonInterface, object>;

/** The answer of each interface to a request for an unknown model. */
const RECOMMENDED = "Use modelx-v4-pro";
const OTHERS = {
  embeddings: "This interface has: modelx-embed.",
  rerank: "This interface has: modelx-rerank.",
  image_generation: "This interface has: modelx-image.",
  speech: "This interface has: modelx-speech.",
} as const;

interface Call {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Answer {
  status: number;
  headers: Headers;
  message: string;
  text: string;
}

/** With the key, unless the headers say otherwise. */
async function call(name: JsonInterface, { path, method = "POST", headers = {}, body = BODIES[name] }: Call): Promise<Answer> {
  const hasBody = method !== "GET" && method !== "HEAD";
  const isText = typeof body === "string";
  const response = await fetch(stack.baseUrl + path, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}`, ...headers },
    ...(hasBody ? { body: isText ? body : JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  // Speech is sound.
  const isJson = response.headers.get("content-type") === "application/json";
  return { status: response.status, headers: response.headers, message: isJson ? readMessage(text) : "", text };
}

function readMessage(text: string): string {
  const parsed: { error?: { message?: string } } = JSON.parse(text);
  return parsed.error?.message ?? "";
}

function expectShape(name: JsonInterface, { headers, text }: Answer): void {
  expect(headers.get("content-type")).toBe("application/json");
  const openAi = {
    error: { message: expect.any(String), type: expect.any(String), param: expect.anything(), code: expect.anything() },
  };
  const shapes = {
    chat: openAi,
    responses: openAi,
    embeddings: openAi,
    rerank: openAi,
    image_generation: openAi,
    speech: openAi,
    messages: {
      type: "error",
      error: { type: expect.any(String), message: expect.any(String) },
      request_id: headers.get("x-request-id"),
    },
  };
  const parsed: { error: object } = JSON.parse(text, (_, value: unknown) => value ?? "null");
  expect(parsed).toEqual(shapes[name]);
}

describe.for(INTERFACES)("on the $name interface", ({ name, path }) => {
  const keysUrl = () => `${stack.baseUrl}/dashboard/keys`;

  test("the key is accepted in either header, on every interface (S3)", async () => {
    expect((await call(name, { path })).status).toBe(200);
    expect((await call(name, { path, headers: { authorization: "", "x-api-key": stack.apiKey } })).status).toBe(200);
  });

  test.for([
    ["another provider's key", "sk-ant-api03-Zz8877665544", "another provider (Anthropic)"],
    ["a management token", "mgmt_Zz8877665544", "works only with the API under /api/v1"],
    ["a cluster's token", "eyJhbGciOiJI.eyJpc3MiOiJr.Zz8877665544", "Kubernetes"],
    ["a masked key", "sk-mg-AbCd****WxYz", "masked display form"],
    ["a variable that was not replaced", "${GATEWAY_KEY}", "placeholder"],
  ] as const)("%s is 401, explains what it is and where to create keys, and is not repeated (S18)", async ([, key, sentence]) => {
    const headerSets: Record<string, string>[] = [{ authorization: `Bearer ${key}` }, { authorization: "", "x-api-key": key }];
    for (const headers of headerSets) {
      const answer = await call(name, { path, headers });
      expect(answer.status).toBe(401);
      expect(answer.message).toContain(sentence);
      expect(answer.message).toContain(keysUrl());
      expect(answer.text).not.toContain(key);
      expectShape(name, answer);
    }
  });

  test.for([
    ["Bearer twice", (key: string) => `Bearer ${key}`, "appears twice"],
    ["quotation marks", (key: string) => `"${key}"`, "quotation marks"],
    ["a space inside", (key: string) => `${key.slice(0, 12)} ${key.slice(12)}`, "white space"],
    ["an escaped line break", (key: string) => `${key}\\n`, "white space or a line break"],
    ["half a key", (key: string) => key.slice(0, 30), "has 30 characters instead of 61"],
  ] as const)("a key with %s is 401 and explains how to send it (S18)", async ([, spoil, sentence]) => {
    const answer = await call(name, { path, headers: { authorization: `Bearer ${spoil(stack.apiKey)}` } });
    expect(answer.status).toBe(401);
    expect(answer.message).toContain(sentence);
    expect(answer.text).not.toContain(stack.apiKey.slice(18));
    expectShape(name, answer);
  });

  test("a key in another service's header is 401 and names the header", async () => {
    const answer = await call(name, { path, headers: { authorization: "", "api-key": stack.apiKey } });
    expect(answer.status).toBe(401);
    expect(answer.message).toContain("The header `api-key` is ignored.");
    expectShape(name, answer);
  });

  test.for([
    ["gpt-4o", "was not found. Use modelx-v4-pro"],
    ["claude-sonnet-4-5", "was not found. Use modelx-v4-pro"],
    ["openai/modelx-v4-pro", 'Its name is written "modelx-v4-pro".'],
    ["ModelX-V4-Pro ", 'Its name is written "modelx-v4-pro".'],
  ] as const)("the model name %s is 404 and lists the available ones (S9)", async ([model, sentence]) => {
    const answer = await call(name, { path, body: { ...BODIES[name], model } });
    expect(answer.status).toBe(404);
    expect(answer.message).toContain(isInputInterface(name) ? sentence.replace(RECOMMENDED, OTHERS[name]) : sentence);
    expectShape(name, answer);
  });

  test.for([
    ["an empty body", "", "The request has no body. Send a JSON object with `model`"],
    ["a byte order mark", '\u{FEFF}{"model":"modelx-v4-pro"}', "save it as UTF-8 without one"],
    ["single quotation marks", "{'model': 'modelx-v4-pro'}", "double quotation marks"],
    ["names without quotation marks", '{model: "modelx-v4-pro"}', "double quotation marks"],
    ["the name of a file", "@request.json", "begins with `@`"],
    ["JSON inside a string", JSON.stringify("{}"), "encode it once"],
    ["no JSON at all", "Hello", "not valid JSON"],
  ] as const)("%s is 400 and explains what to send (S21)", async ([, body, sentence]) => {
    const answer = await call(name, { path, body });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain(sentence);
    expectShape(name, answer);
  });

  test.for([
    ["application/x-www-form-urlencoded", "model=modelx-v4-pro&input=Hi"],
    ["multipart/form-data; boundary=x", '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--x--'],
  ] as const)("a form of type %s is 400 and names the right type (S21)", async ([type, body]) => {
    const answer = await call(name, { path, headers: { "content-type": type }, body });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain("send JSON with `content-type: application/json`");
    expectShape(name, answer);
  });

  test("JSON of another content type is accepted: curl sends it by default", async () => {
    expect((await call(name, { path, headers: { "content-type": "application/x-www-form-urlencoded" } })).status).toBe(200);
  });

  test("a GET is 405, with allow and a way to test the key (S20)", async () => {
    const answer = await call(name, { path, method: "GET" });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    expect(answer.message).toContain("This path accepts POST, not GET. To try a key, GET /v1/models.");
    expectShape(name, answer);
  });

  test.for([
    ["doubled", (served: string) => `/v1${served}`, "one `/v1` too many"],
    ["missing", (served: string) => served.slice("/v1".length), "`/v1` is missing. Send POST"],
    ["behind an endpoint", (served: string) => `${served}${served}`, "an extra prefix before POST"],
  ] as const)("a /v1 that is %s is a 404 with the correct base URL (S20)", async ([, spoil, sentence]) => {
    const answer = await call(name, { path: spoil(path) });
    expect(answer.status).toBe(404);
    expect(answer.message).toContain(sentence);
    expect(answer.message).toContain("OpenAI-style clients with exactly one");
    expectShape(name, answer);
  });
});

test.for([
  [
    "chat",
    "/v1/chat/completions",
    { model: "modelx-v4-pro", input: "Hi." },
    "`input` belongs to POST /v1/responses or POST /v1/embeddings.",
  ],
  ["responses", "/v1/responses", BODIES.chat, "`messages` belongs to POST /v1/chat/completions or POST /v1/messages."],
] as const)("a body of another interface sent to %s is a 400 that names its endpoint", async ([name, path, body, sentence]) => {
  const answer = await call(name, { path, body });
  expect(answer.status).toBe(400);
  expect(answer.message).toContain(sentence);
});

test("a Model without Responses is a 404 there, and the message says where it is available (S8)", async () => {
  const answer = await call("responses", { path: "/v1/responses", body: { ...BODIES.responses, model: "modelx-v4-flash" } });
  expect(answer.status).toBe(404);
  expect(answer.message).toContain(
    'The model "modelx-v4-flash" is not available on this interface, only on POST /v1/chat/completions and POST /v1/messages. Use modelx-v4-pro. All are at ',
  );
  expect(answer.message).toMatch(/\/dashboard\/models$/);
});

test("a model for conversations is a 404 for embeddings, and the message lists each of its interfaces (S8)", async () => {
  const answer = await call("embeddings", { path: "/v1/embeddings", body: { ...BODIES.embeddings, model: "modelx-v4-pro" } });
  expect(answer.status).toBe(404);
  expect(answer.message).toContain("only on POST /v1/chat/completions, POST /v1/messages, and POST /v1/responses.");
});

test("a POST to a read-only path is 405 with allow (S20)", async () => {
  const answer = await call("chat", { path: "/v1/models" });
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("GET, HEAD");
});

test("an unknown path lists those that are served (S20)", async () => {
  const answer = await call("chat", { path: "/v1/audio/nowhere" });
  expect(answer.status).toBe(404);
  const paths = [
    "chat/completions",
    "messages",
    "responses",
    "embeddings",
    "rerank",
    "audio/speech",
    "audio/transcriptions",
    "models",
    "balance",
    "usage",
  ];
  for (const path of paths) expect(answer.message).toContain(` /v1/${path}`);
});
