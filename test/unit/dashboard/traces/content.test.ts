import { expect, test } from "vitest";
import { contentOf } from "../../../../dashboard/traces/content.ts";

const text = (value: object | string, isCut = false) => {
  const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  return { text: bytes, bytes: bytes.length, isCut };
};

function read(client: string, request: object | string, answer: object | string | null) {
  const content = contentOf({
    interface: client,
    content: { request: text(request), answer: answer === null ? null : text(answer) },
  });
  const parsed = (json: string | null): unknown => (json === null ? null : JSON.parse(json));
  return { ...content, inputMessages: parsed(content.inputMessages), outputMessages: parsed(content.outputMessages) };
}

test("a chat with tools is a list of messages as OpenTelemetry's conventions write them (S61)", () => {
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  const request = {
    model: "modelx-v4-pro",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Weather?" }] },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "rainy" },
    ],
  };
  const answer = { choices: [{ index: 0, message: { role: "assistant", content: "Rain." }, finish_reason: "stop" }] };
  expect(read("chat", request, answer)).toEqual({
    inputMessages: [
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      { role: "user", parts: [{ type: "text", content: "Weather?" }] },
      { role: "assistant", parts: [{ type: "tool_call", name: "weather", arguments: { city: "Paris" } }] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: "rainy" }] },
    ],
    outputMessages: [{ role: "assistant", parts: [{ type: "text", content: "Rain." }], finish_reason: "stop" }],
    finishReasons: ["stop"],
    isCut: false,
  });
});

test("a stream of messages is one message with its stop reason", () => {
  const events = [
    { type: "message_start", message: { role: "assistant", content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
  ];
  const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  expect(read("messages", { messages: [{ role: "user", content: "Hi" }] }, stream)).toMatchObject({
    outputMessages: [
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Hm." },
          { type: "text", content: "Hello" },
        ],
        finish_reason: "end_turn",
      },
    ],
    finishReasons: ["end_turn"],
  });
});

test("what is no conversation, or was cut, is one text of bounded length; no answer is none", () => {
  expect(read("embeddings", { input: "a" }, "[48 bytes of vectors, not recorded]")).toMatchObject({
    inputMessages: [{ role: "user", parts: [{ type: "text", content: expect.stringContaining('"input": "a"') }] }],
    outputMessages: [{ role: "assistant", parts: [{ type: "text", content: "[48 bytes of vectors, not recorded]" }] }],
    finishReasons: [],
  });
  const cut = contentOf({
    interface: "chat",
    content: { request: text(`{"messages": [{"role": "user", "content": "${"x".repeat(1_000_000)}`, true), answer: null },
  });
  expect(cut).toMatchObject({ outputMessages: null, isCut: true });
  expect(cut.inputMessages.length).toBeLessThan(300_000);
});

test("messages that are too long are sent as their beginning", () => {
  const request = { messages: [{ role: "user", content: "y".repeat(2_000_000) }] };
  const { inputMessages, isCut } = contentOf({ interface: "chat", content: { request: text(request), answer: null } });
  expect(isCut).toBe(true);
  expect(inputMessages.length).toBeLessThan(300_000);
  expect(JSON.parse(inputMessages)).toMatchObject([
    { role: "user", parts: [{ type: "text", content: expect.stringContaining("yyy") }] },
  ]);
});
