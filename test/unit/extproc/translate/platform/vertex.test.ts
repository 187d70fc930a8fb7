import { expect, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { createTokenCount } from "../../../../../extproc/translate/count-tokens/token-count.ts";
import { inputFor } from "../input.ts";

/** Anthropic's models on Vertex AI: the request's envelope (S51). */

const MODEL = "claude-x@20270101";
const REQUESTS = {
  chat: { model: "m", max_tokens: 100, stream: true, messages: [{ role: "user", content: "Hi." }] },
  messages: { model: "m", max_tokens: 100, stream: true, messages: [{ role: "user", content: "Hi." }] },
  responses: { model: "m", max_output_tokens: 100, stream: true, input: "Hi." },
} as const satisfies Record<Protocol, object>;

function inputOn(client: Protocol, more: object = {}, headers: Record<string, string> = {}) {
  const input = inputFor({ ...REQUESTS[client], ...more }, { upstream: "messages", upstreamModel: MODEL, headers });
  return { ...input, backend: { ...input.backend, platform: "vertex" as const } };
}

test.for(["chat", "messages", "responses"] as const)("requests of %s name the model in the path alone", (client) => {
  const { path, body, headers } = createTranslation(client, inputOn(client)).upstream;
  expect(path).toBe("/publishers/anthropic/models/claude-x@20270101:streamRawPredict");
  expect(headers).not.toHaveProperty("anthropic-version");
  const sent: unknown = JSON.parse(body.toString());
  expect(sent).toMatchObject({ anthropic_version: "vertex-2023-10-16", max_tokens: 100, stream: true });
  expect(sent).not.toHaveProperty("model");
  expect(createTranslation(client, inputOn(client, { stream: false })).upstream.path).toMatch(/:rawPredict$/);
});

test("versions and betas of a body do not replace those of the gateway", () => {
  const own = { anthropic_version: "2023-06-01", anthropic_beta: ["context-1m-2025-08-07"] };
  const { body, headers } = createTranslation("messages", inputOn("messages", own, { "anthropic-beta": "a-1" })).upstream;
  expect(headers["anthropic-beta"]).toBe("a-1");
  const sent: unknown = JSON.parse(body.toString());
  expect(sent).toMatchObject({ anthropic_version: "vertex-2023-10-16" });
  expect(sent).not.toHaveProperty("anthropic_beta");
});

test("a model's name cannot leave its part of the path", () => {
  const input = inputOn("messages");
  const backend = { ...input.backend, upstreamModel: "../a;b?c#d" };
  expect(createTranslation("messages", { ...input, backend }).upstream.path).toBe(
    "/publishers/anthropic/models/..%2Fa%3Bb%3Fc%23d:streamRawPredict",
  );
});

test("tokens are counted by Vertex AI, and estimated if it refuses", () => {
  const input = inputOn("messages", { context_management: {} }, { "anthropic-beta": "context-management-2025-06-27" });
  const count = createTokenCount(input);
  expect(count.upstream).toMatchObject({ path: "/publishers/anthropic/models/count-tokens:rawPredict", headers: {} });
  const sent: unknown = JSON.parse(count.upstream?.body.toString() ?? "");
  expect(sent).toMatchObject({ model: MODEL, anthropic_version: "vertex-2023-10-16" });
  expect(sent).not.toHaveProperty("context_management");
  expect(count.answer(200, Buffer.from('{"input_tokens":7}'))).toEqual({ input_tokens: 7 });
  expect(count.answer(400, Buffer.from('{"error":{"message":"no"}}'))).toEqual(count.estimate());
});
