import { expect, test } from "vitest";
import { PROFILES } from "../../../../contract/profile.ts";
import type { Protocol } from "../../../../contract/protocol.ts";
import { parseBody } from "../../../../extproc/protocol/json/parse-body.ts";
import { estimateResponsesTokens } from "../../../../extproc/translate/count-tokens/estimate.ts";
import { createResponsesCount } from "../../../../extproc/translate/count-tokens/responses-count.ts";

const backend = {
  name: "main",
  cluster: "main",
  basePath: "",
  upstreamModel: "inner",
  weight: 1,
  priority: 0,
  profile: PROFILES.openai,
};
const PROMPT = '"input":"How many tokens are this?"';

const ask = (protocol: Protocol, members = PROMPT) =>
  createResponsesCount({
    body: parseBody(Buffer.from(`{"model":"modelx-v4-pro",${members}}`), {
      headers: new Map([["content-type", "application/json"]]),
      interface: "responses",
    }),
    backend: { ...backend, protocol },
  });

test("a Responses server is asked itself, byte for byte except for the model's name (S16)", () => {
  const { upstream } = ask("responses", `${PROMPT},"seen": 12345678901234567890`);
  expect(upstream?.path).toBe("/responses/input_tokens");
  expect(upstream?.body.toString()).toBe(`{"model":"inner",${PROMPT},"seen": 12345678901234567890}`);
  expect(upstream?.headers).toEqual({});
});

test("reasoning that the server does not know is omitted, as when it generates", () => {
  const { upstream } = ask("responses", '"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"user","content":"hi"}]');
  expect(upstream?.body.toString()).toBe('{"model":"inner","input":[{"role":"user","content":"hi"}]}');
});

test.for(["chat", "messages"] as const)("a %s server is not asked: the estimate is returned", (protocol) => {
  const count = ask(protocol);
  expect(count.upstream).toBeNull();
  expect(count.estimate()).toEqual({ object: "response.input_tokens", input_tokens: 7 });
});

test.for(["", "[]", "null"])("input of `%s` cannot be counted: 400 that names it (S21)", (input) => {
  const members = input === "" ? '"instructions":"hi"' : `"input":${input}`;
  for (const protocol of ["chat", "messages", "responses"] as const)
    expect(() => ask(protocol, members)).toThrow(expect.objectContaining({ status: 400, field: "input" }));
});

test("what is stored elsewhere cannot be counted: 400 that names it (S21)", () => {
  expect(() => ask("responses", `${PROMPT},"previous_response_id":"resp_1"`)).toThrow(
    expect.objectContaining({ status: 400, field: "previous_response_id" }),
  );
});

test("the server's error about the request reaches the client (S22)", () => {
  const refusal = Buffer.from('{"error":{"message":"Invalid tool.","type":"invalid_request_error","param":"tools","code":null}}');
  expect(() => ask("responses").answer(400, refusal)).toThrow(expect.objectContaining({ status: 400, message: "Invalid tool." }));
});

test.for([
  ["its own count", 200, '{"object":"response.input_tokens","input_tokens":11}', 11],
  ["the estimate where the server does not count", 405, '{"detail":"Method Not Allowed"}', 7],
  ["the estimate where the server answers something else", 200, '{"id":"resp_1"}', 7],
] as const)("the client gets %s", ([, status, answer, tokens]) => {
  expect(ask("responses").answer(status, Buffer.from(answer))).toEqual({ object: "response.input_tokens", input_tokens: tokens });
});

test("instructions, items and tools count, pictures and files by size, and what no model reads does not", () => {
  const of = (request: object) => estimateResponsesTokens({ ...request });
  const message = (part: object) => of({ input: [{ role: "user", content: [part] }] });
  expect(of({ input: "x".repeat(400), instructions: "x".repeat(400) })).toBe(200);
  expect(of({ input: [{ type: "function_call_output", call_id: "x".repeat(400), output: "x".repeat(400) }] })).toBe(104);
  expect(of({ input: "", tools: [{ type: "function", name: "f", parameters: { type: "object" } }] })).toBeGreaterThan(0);
  expect(of({ input: [{ type: "reasoning", summary: [], encrypted_content: "x".repeat(400) }] })).toBe(4);
  const picture = message({ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(400)}` });
  expect(picture).toBe(message({ type: "input_image", image_url: "https://x/a.png" }));
  expect(picture).toBeGreaterThan(1_600);
  const file = (type: string) =>
    message({ type: "input_file", filename: "a", file_data: `data:${type};base64,${"A".repeat(4_000)}` });
  expect(file("application/pdf")).toBeGreaterThan(2_000);
  expect(file("text/csv")).toBeLessThan(800);
});
