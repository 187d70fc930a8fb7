import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { encodeSseEvent } from "../../../../../extproc/protocol/sse.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayMessages } from "../replay.ts";
import { CHAT, chunk, DONE, play } from "./play.ts";
import { emptyMessage } from "../empty-message.ts";

/** What a passthrough changes of a stream whose server writes errors in its own words, or events without their names. */
const MESSAGES = { ...CHAT, max_tokens: 10 };
const LEAK = "pool gpu-7.internal:8000 of org-a1b2c3d4 is out of memory for other";

test.for<["chat" | "messages" | "responses", string, object]>([
  ["chat", "The model server failed. Try again.", { error: { message: LEAK, type: "server_error", code: 500 } }],
  ["chat", "overloaded", { error: { message: LEAK, type: "overloaded_error" } }],
  ["chat", "refused the gateway", { error: { message: LEAK, code: "insufficient_quota" } }],
  ["chat", "is not accepting requests", { object: "error", message: LEAK, code: 429 }],
  ["chat", "no usable answer", { choices: [{ index: 0, error: { message: LEAK }, finish_reason: "error" }] }],
  ["chat", "no usable answer", { error: LEAK, error_type: "generation" }],
  ["chat", "no usable answer", { detail: LEAK }],
  ["chat", "The model server failed. Try again.", { message: LEAK, code: 500 }],
  ["chat", "[address] of [redacted] is out of memory for m", { error: { message: LEAK, code: 400 } }],
  ["messages", "overloaded", { type: "error", error: { type: "overloaded_error", message: LEAK } }],
  ["messages", "no usable answer", { type: "error", error: { type: "api_error", message: LEAK } }],
  ["messages", "[address] of [redacted]", { type: "error", error: { type: "invalid_request_error", message: LEAK } }],
  ["messages", "no usable answer", { error: { message: LEAK } }],
  ["responses", "no usable answer", { type: "error", code: "server_error", message: LEAK, param: null }],
  ["responses", "is not accepting", { type: "error", error: { type: "tokens", code: "rate_limit_exceeded", message: LEAK } }],
  [
    "responses",
    "maximum context",
    { type: "response.failed", response: { error: { code: "context_length_exceeded", message: LEAK } } },
  ],
  [
    "responses",
    "no usable answer",
    { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: LEAK } } },
  ],
  ["responses", "no usable", { type: "response.completed", response: { error: { code: "server_error", message: LEAK } } }],
  ["responses", "before its answer was complete", { type: "response.completed", response: { status: "cancelled" } }],
])("a server's error in a stream of %s is in the gateway's words: %s", ([protocol, words, event]) => {
  const body = protocol === "chat" ? CHAT : { ...MESSAGES, ...(protocol === "responses" && { input: "hi" }) };
  const text = `data: ${JSON.stringify(event)}\n\n`;
  const run = play(body, [Buffer.from(text + text)], { protocol, upstreamModel: "other" });
  expect(run.outcome).toBe("failed");
  expect(run.text).toContain(words);
  expect(run.text).not.toMatch(/gpu-7|org-a1|:8000|other/);
  // The event of a Responses stream says it twice.
  const most = protocol === "responses" ? 4 : 3;
  expect(run.text.match(/"(?:error|response\.failed)"/g)?.length).toBeLessThanOrEqual(most);
});

describe.each([
  ["error", "upstream_error", /before its answer was complete/],
  ["Abort", "upstream_error", /before its answer was complete/],
  ["function_call_filter: MALFORMED_FUNCTION_CALL", "upstream_error", /before its answer was complete/],
  ["insufficient_system_resource", "overloaded", /overloaded/],
])("a server whose answer ends with the reason %s has failed", (reason, code, words) => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
  const finish = (more: object = {}) => chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: reason }], ...more });

  test.each([
    ["with", finish({ usage }) + DONE],
    ["before", finish() + chunk({}, { choices: [], usage }) + DONE],
  ])("a chat client gets an error after the text, and pays by the usage that comes %s it", (_, end) => {
    const run = play(CHAT, [Buffer.from(chunk({ content: "Good day." }) + end)], { protocol: "chat" });
    expect(run.outcome).toBe("failed");
    expect(run.text).toMatch(/Good day\.[^]*"error":[^]*event: error\n\n$/);
    expect(run.text).toMatch(words);
    expect(run.metered).toMatchObject({ usage: { inputTokens: 7, outputTokens: 3 }, isEstimated: false });
  });

  test("a messages client gets an error after the text, and pays for it", () => {
    const events = [
      { type: "message_start", message: emptyMessage(7) },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Good day." } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 3 } },
      { type: "message_stop" },
    ];
    const text = events.map((event) => encodeSseEvent(event.type, JSON.stringify(event))).join("");
    const run = play(MESSAGES, [Buffer.from(text)], { protocol: "messages" });
    expect(run.outcome).toBe("failed");
    expect(run.text).toMatch(/Good day\.[^]*event: error\n.*\n\n$/);
    expect(run.text).not.toMatch(/message_delta|message_stop/);
    expect(run.text).toMatch(words);
    expect(run.metered).toMatchObject({ usage: { inputTokens: 7, outputTokens: 3 }, isEstimated: false });
  });

  test.each([
    ["chat", { choices: [{ index: 0, message: { role: "assistant", content: "Good day." }, finish_reason: reason }], usage }],
    ["messages", { ...emptyMessage(7), content: [{ type: "text", text: "Good day." }], stop_reason: reason }],
  ] as const)("a complete answer of %s is an error", (protocol, answer) => {
    const input = inputFor({ ...MESSAGES, stream: false }, { upstream: protocol });
    const { response } = createTranslation(protocol, input);
    const body = Buffer.from(JSON.stringify(answer));
    expect(() => response(body, createMeter(10))).toThrow(expect.objectContaining({ code }));
  });
});

test("events of messages get the names that their server leaves out", async () => {
  const start = emptyMessage(3);
  const named = [
    ["message_start", { message: start }],
    ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
    ["content_block_delta", { index: 0, delta: { type: "text_delta", text: "Good " } }],
    ["content_block_delta", { index: 0, delta: { type: "text_delta", text: "day." } }],
    ["content_block_stop", { index: 0 }],
    ["message_delta", { delta: { stop_reason: "end_turn" }, usage: { input_tokens: 3, output_tokens: 4 } }],
    ["message_stop", {}],
  ] as const;
  const events = named.map(([type, more]) => [`event: ${type}\n`, `data: ${JSON.stringify({ type, ...more })}\n\n`] as const);
  const text = events.map(([name, data]) => name + data).join("");
  const nameless = `\ufeff${events.map(([, data]) => data).join("")}`;
  const whole = play(MESSAGES, [Buffer.from(nameless)], { protocol: "messages" });
  expect(whole).toMatchObject({ text, outcome: "complete" });
  const bytes = [...Buffer.from(nameless)].map((byte) => Buffer.from([byte]));
  expect(play(MESSAGES, bytes, { protocol: "messages" }).text).toBe(text);
  expect(await replayMessages(whole.text)).toMatchObject({ content: [{ type: "text", text: "Good day." }] });
});

test("an error event that only its name shows is one", () => {
  for (const protocol of ["chat", "messages"] as const) {
    const text = `event: error\ndata: {"detail":"${LEAK}"}\n\n`;
    const run = play(protocol === "chat" ? CHAT : MESSAGES, [Buffer.from(text)], { protocol });
    expect(run.outcome).toBe("failed");
    expect(run.text).not.toContain("gpu-7");
  }
});
