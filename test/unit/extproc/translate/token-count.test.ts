import { expect, test } from "vitest";
import { PROFILES } from "../../../../contract/profile.ts";
import { PROTOCOLS, type Protocol } from "../../../../contract/protocol.ts";
import type { JsonObject } from "../../../../extproc/protocol/json/object.ts";
import { parsedBody } from "../../../../extproc/protocol/json/request-body.ts";
import { createTokenCount } from "../../../../extproc/translate/count-tokens/token-count.ts";

const parsed = { model: "modelx-v4-pro", messages: [{ role: "user", content: "How many tokens are this?" }] };
const body = Buffer.from('{"model":"modelx-v4-pro","seen": 12345678901234567890,"messages":[]}');
const backend = {
  name: "main",
  cluster: "main",
  basePath: "",
  upstreamModel: "inner",
  weight: 1,
  priority: 0,
  profile: PROFILES.anthropic,
};

const ask = (protocol: Protocol, request: JsonObject = parsed) =>
  createTokenCount({
    body: parsedBody(body, request),
    headers: new Map([["anthropic-version", "2026-10-21"]]),
    backend: { ...backend, protocol },
  });

test("a messages upstream is called itself, byte for byte except for the model's name (S16)", () => {
  const { upstream } = ask("messages");
  expect(upstream?.path).toBe("/v1/messages/count_tokens");
  expect(upstream?.body.toString()).toBe('{"model":"inner","seen": 12345678901234567890,"messages":[]}');
  expect(upstream?.headers).toEqual({ "anthropic-version": "2026-10-21" });
});

test("a chat upstream cannot count: nothing is sent, and the estimate is returned", () => {
  const count = ask("chat");
  expect(count.upstream).toBeNull();
  expect(count.estimate()).toEqual({ input_tokens: 12 });
});

test("a Responses upstream is not called: the estimate is returned", () => {
  expect(ask("responses").upstream).toBeNull();
});

test.for([{}, { messages: [] }, { messages: "hi" }, { tools: [{ name: "f" }] }])(
  "%j has no messages to count: 400 that names them (S21)",
  (request) => {
    for (const protocol of PROTOCOLS)
      expect(() => ask(protocol, { model: "m", ...request })).toThrow(
        expect.objectContaining({ status: 400, field: "messages" }),
      );
  },
);

test("the server's error about the request reaches the client (S22)", () => {
  const refusal = Buffer.from('{"type":"error","error":{"type":"invalid_request_error","message":"messages.0: no role"}}');
  expect(() => ask("messages").answer(400, refusal)).toThrow(
    expect.objectContaining({ status: 400, message: "messages.0: no role" }),
  );
});

test.for([
  ["its own count", 200, '{"input_tokens":7}', 7],
  ["the estimate where the server does not count", 404, '{"detail":"Not Found"}', 12],
  ["the estimate where the server answers something else", 200, "<html>", 12],
  ["the estimate where the count is none", 200, '{"input_tokens":-1}', 12],
] as const)("the client gets %s", ([, status, answer, tokens]) => {
  expect(ask("messages").answer(status, Buffer.from(answer))).toEqual({ input_tokens: tokens });
});
