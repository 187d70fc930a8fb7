import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Every refusal and failure that a caller can meet (S17–S22), in both dialects, through a real Envoy. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n });
});
afterAll(() => stack.stop());

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const INTERFACES = [
  { name: "chat", path: CHAT },
  { name: "messages", path: MESSAGES },
] as const;
const MODELS = ["modelx-v4-pro", "modelx-v4-flash"] as const;

interface Call {
  method?: string;
  path: string;
  key?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
}

interface Answer {
  status: number;
  headers: Headers;
  type: string;
  code: string | null | undefined;
  message: string;
  text: string;
}

async function call({ method = "POST", path, key = stack.apiKey, headers = {}, body }: Call): Promise<Answer> {
  const response = await fetch(stack.baseUrl + path, {
    method,
    headers: { "content-type": "application/json", ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const { type, code, message } = readError(text);
  return { status: response.status, headers: response.headers, type, code, message, text };
}

function readError(text: string): { type: string; code: string | null | undefined; message: string } {
  const body: unknown = text.startsWith("{") ? JSON.parse(text) : {};
  const error: unknown = Reflect.get(Object(body), "error");
  return {
    type: String(Reflect.get(Object(error), "type")),
    code: Reflect.get(Object(error), "code"),
    message: String(Reflect.get(Object(error), "message")),
  };
}

const ask = (model: string, text = "Hello.", more: object = {}) => ({
  model,
  max_tokens: 64,
  messages: [{ role: "user", content: text }],
  ...more,
});

const MENDED_BY_TIME = [408, 409, 429];

/** The caller's shape, JSON, one id under both names (S17), and no retry of what no retry mends (S42). */
function expectShape(answer: Answer, protocol: "chat" | "messages"): void {
  const isFinal = answer.status >= 400 && answer.status < 500 && !MENDED_BY_TIME.includes(answer.status);
  expect(answer.headers.get("x-should-retry")).toBe(isFinal ? "false" : null);
  expect(answer.headers.get("content-type")).toBe("application/json");
  const id = answer.headers.get("x-request-id");
  expect(id).toBeTruthy();
  expect(answer.headers.get("request-id")).toBe(id);
  const shapes = {
    chat: {
      error: {
        message: expect.any(String),
        type: expect.any(String),
        param: expect.toSatisfy(isTextOrNull),
        code: expect.toSatisfy(isTextOrNull),
      },
    },
    messages: { type: "error", error: { type: expect.any(String), message: expect.any(String) }, request_id: id },
  };
  expect(JSON.parse(answer.text)).toEqual(shapes[protocol]);
}

/** How a broken stream's error event begins, and what only a clean end would hold. */
const STREAM_ENDS = {
  chat: { error: /^data: \{"error"/, clean: '"finish_reason":"stop"' },
  messages: { error: /^event: error\ndata: /, clean: "message_stop" },
};

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

describe.for(INTERFACES)("on the $name interface", ({ name, path }) => {
  const type = (chat: string, messages: string) => (name === "chat" ? chat : messages);

  test.for([
    ["no key", null, "carries no API key"],
    ["a wrong key", "sk-mg-000000000000" + "0".repeat(43), "it was deleted, or it is mistyped"],
    ["another provider's key", "sk-proj-abcdefgh", "another provider (OpenAI)"],
    ["a masked key", "sk-mg-AbCd****WxYz", "masked display form"],
    ["a management token", "mgmt_" + "0".repeat(43), "it works only with the API under /api/v1"],
  ] as const)("%s is 401 (S18)", async ([, key, sentence]) => {
    const answer = await call({ path, key, body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(401);
    expect(answer.type).toBe(type("invalid_request_error", "authentication_error"));
    expect(answer.message).toContain(sentence);
    expectShape(answer, name);
  });

  test("two different keys in one request are 401 (S3)", async () => {
    const answer = await call({ path, headers: { "x-api-key": "sk-mg-other" }, body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(401);
    expectShape(answer, name);
  });

  test.for(["gpt-4o", "claude-sonnet-4-5", "nonsense"])("the unknown model %s is 404 and recommends ours (S9)", async (model) => {
    const answer = await call({ path, body: ask(model) });
    expect(answer.status).toBe(404);
    expect(answer.type).toBe(type("invalid_request_error", "not_found_error"));
    expect(answer.message).toContain("modelx-v4-pro or modelx-v4-flash");
    expectShape(answer, name);
  });

  test.for([
    ["broken JSON", '{"model": "modelx-v4-pro", ', "not valid JSON"],
    ["an array", "[]", "must be a JSON object"],
    ["no model", { max_tokens: 5, messages: [{ role: "user", content: "x" }] }, "`model`"],
    ["a model of the wrong type", { model: 7, max_tokens: 5, messages: [{ role: "user", content: "x" }] }, "`model`"],
    ["no messages", { model: "modelx-v4-pro", max_tokens: 5 }, "messages"],
    ["messages of the wrong type", { model: "modelx-v4-flash", max_tokens: 5, messages: "hello" }, "messages"],
    ["a message without a role", { model: "modelx-v4-flash", max_tokens: 5, messages: [{ content: "x" }] }, "messages[0]"],
    ["stream of the wrong type", ask("modelx-v4-pro", "x", { stream: "yes" }), "stream"],
  ] as const)("%s is 400 and names the field (S21)", async ([, body, sentence]) => {
    const answer = await call({ path, body });
    expect(answer.status).toBe(400);
    expect(answer.type).toBe("invalid_request_error");
    expect(answer.message).toContain(sentence);
    expectShape(answer, name);
  });

  test("a prompt of 4 MB passes, both upstream protocols", async () => {
    for (const model of MODELS) {
      const answer = await call({ path, body: ask(model, "word ".repeat(800_000)) });
      expect(answer.status).toBe(200);
    }
  });

  test("a body over 32 MiB is 413 (S21)", async () => {
    const answer = await call({ path, body: ask("modelx-v4-pro", "x".repeat(33 * 1024 * 1024)) });
    expect(answer.status).toBe(413);
    expect(answer.type).toBe(type("invalid_request_error", "request_too_large"));
    expect(answer.message).toMatch(/32 MiB|33554432 bytes/);
    expectShape(answer, name);
  });

  test("a wrong method is 405 with allow (S20)", async () => {
    const answer = await call({ path, method: "PUT", body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    expectShape(answer, name);
  });

  describe.for(MODELS)("from the server behind %s", (model) => {
    test.for([
      [400, 400, "invalid_request_error", "invalid_request_error"],
      [401, 502, "server_error", "api_error"],
      [402, 502, "server_error", "api_error"],
      [403, 502, "server_error", "api_error"],
      [429, 429, "rate_limit_error", "rate_limit_error"],
      [500, 500, "server_error", "api_error"],
      [503, 503, "server_error", "overloaded_error"],
    ] as const)("a %i reaches the caller as %i and costs nothing (S22)", async ([sent, asked, chat, messages]) => {
      // The message protocol has a status of its own for an overloaded server.
      const status = name === "messages" && asked === 503 ? 529 : asked;
      const answer = await call({ path, body: ask(model, `Fail. [[sim status=${sent} retry-after=7]]`) });
      expect(answer.status).toBe(status);
      expect(answer.type).toBe(type(chat, messages));
      expect(answer.headers.get("retry-after")).toBe(sent === 429 || sent === 503 ? "7" : answer.headers.get("retry-after"));
      expectShape(answer, name);
      const requestId = answer.headers.get("x-request-id") ?? "";
      expect(await stack.usageOf(requestId)).toEqual([
        expect.objectContaining({ outcome: "failed", httpStatus: status, chargeNanoUsd: 0n }),
      ]);
      expect(await stack.entriesOf(requestId)).toEqual([]);
    });

    test("an HTML error page is translated and leaks nothing (S17)", async () => {
      const answer = await call({ path, body: ask(model, "Fail. [[sim html status=502]]") });
      expect(answer.status).toBe(502);
      expect(answer.text).not.toMatch(/<html|nginx/i);
      expectShape(answer, name);
    });

    test("an answer that is not JSON is 502 (S22)", async () => {
      const answer = await call({ path, body: ask(model, "Fail. [[sim garbage]]") });
      expect(answer.status).toBe(502);
      expectShape(answer, name);
    });

    test("a connection reset in the middle of a complete answer is 502, with one id under both names (S17, S22)", async () => {
      const answer = await call({ path, body: ask(model, "Break. [[sim reset-after=4]]") });
      expect(answer.status).toBe(502);
      expectShape(answer, name);
    });

    test.for([
      ["is cut", "cut-after=4"],
      ["is reset", "reset-after=4"],
      ["carries an error", "error-after=4"],
    ] as const)("a stream that %s ends with the protocol's error event, never cleanly (S22)", async ([, directive]) => {
      const answer = await call({ path, body: ask(model, `Break. [[sim ${directive}]]`, { stream: true }) });
      expect(answer.status).toBe(200);
      const events = answer.text.split("\n\n").filter((event) => event.trim() !== "");
      expect(events.filter((event) => STREAM_ENDS[name].error.test(event))).toHaveLength(1);
      expect(answer.text).not.toContain(STREAM_ENDS[name].clean);
    });
  });
});

test("a doubled version prefix is a 404 that says so (S20)", async () => {
  for (const [path, protocol] of [
    ["/v1/v1/messages", "messages"],
    ["/v1/v1/chat/completions", "chat"],
  ] as const) {
    const answer = await call({ path, body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(404);
    expect(answer.message).toContain("one `/v1` too many");
    expectShape(answer, protocol);
  }
});

test("a chat-only model requested through messages is a 404 that names the models available there (S7)", async () => {
  const answer = await call({ path: MESSAGES, body: ask("modelx-reasoner") });
  expect(answer.status).toBe(404);
  expect(answer.message).toContain("modelx-v4-pro or modelx-v4-flash");
  expectShape(answer, "messages");
});

test("an unknown version of the Messages interface is 400 and names the supported ones (S4)", async () => {
  for (const header of ["msgapi-version", "anthropic-version"]) {
    const answer = await call({ path: MESSAGES, headers: { [header]: "2099-01-01" }, body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(400);
    expect(answer.message).toContain("2023-06-01");
    expectShape(answer, "messages");
  }
});

test("a client cannot choose the backend with a header", async () => {
  const answer = await call({
    path: "/anything",
    headers: { "x-gateway-backend": "model/modelx-v4-pro/simulated" },
    body: ask("modelx-v4-pro"),
  });
  expect(answer.status).toBe(404);
});

test("an account without credit is 402 on both interfaces, and SDKs do not retry (S19)", async () => {
  const poor = await stack.createAccount({ name: "poor", creditNanoUsd: 0n });
  for (const { name, path } of INTERFACES) {
    const answer = await call({ path, key: poor.apiKey, body: ask("modelx-v4-pro") });
    expect(answer.status).toBe(402);
    expect(answer.message).toMatch(/^Insufficient balance/);
    expect(answer.headers.get("x-should-retry")).toBe("false");
    expect(answer.type).toBe(name === "chat" ? "insufficient_quota" : "billing_error");
    expect(answer.code).toBe(name === "chat" ? "insufficient_balance" : undefined);
    expectShape(answer, name);
  }
});

/** That a notice brings it, without a poll, is shown in test/postgres/feed/feed.test.ts. */
test("a deleted key is refused, everywhere (S25)", async () => {
  const other = await stack.createAccount({ name: "leaver", creditNanoUsd: 1_000_000_000n });
  expect((await call({ path: CHAT, key: other.apiKey, body: ask("modelx-v4-pro") })).status).toBe(200);
  await other.revoke();
  await eventually(async () =>
    expect((await call({ path: CHAT, key: other.apiKey, body: ask("modelx-v4-pro") })).status).toBe(401),
  );
});
