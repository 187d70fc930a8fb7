import * as fc from "fast-check";

type TestBlock =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "tool_use"; id: string; name: string; input: object };

export interface TestMessage {
  id: string;
  type: "message";
  role: "assistant";
  model: string;
  content: TestBlock[];
  stop_reason: string | null;
  stop_sequence: string | null;
  usage: { input_tokens: number; output_tokens: number; cache_read_input_tokens: number; cache_creation_input_tokens: number };
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom("data: x\n\n", "\r\n", "😀é\u2028", "[DONE]"),
);
const tokens = fc.nat(400_000);

const block: fc.Arbitrary<TestBlock> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text }),
  fc.record({ type: fc.constant("thinking" as const), thinking: text, signature: fc.constantFrom("", "c2ln", "bG9uZ2Vy") }),
  fc.record({ type: fc.constant("redacted_thinking" as const), data: fc.constant("b3BhcXVl") }),
  fc.record({
    type: fc.constant("tool_use" as const),
    id: fc.constantFrom("toolu_1", "toolu_2", "call_0", ""),
    name: fc.constantFrom("get_weather", "now"),
    input: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 }),
  }),
);

/** Answers of a messages upstream, odd ones included: repeated ids, empty blocks, any stop reason with any content. */
export const messageArbitrary: fc.Arbitrary<TestMessage> = fc.record({
  id: fc.constantFrom("msg_01", "chatcmpl-x", ""),
  type: fc.constant("message" as const),
  role: fc.constant("assistant" as const),
  model: fc.constant("upstream-model"),
  content: fc.array(block, { maxLength: 6 }),
  stop_reason: fc.constantFrom(
    "end_turn",
    "max_tokens",
    "tool_use",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "something_new",
    null,
  ),
  stop_sequence: fc.constantFrom(null, "END"),
  // What can be true of any such message: the meter replaces other numbers (meter.test.ts).
  usage: fc.record({
    input_tokens: tokens.map((count) => count + 1),
    output_tokens: tokens.map((count) => count + 10_000),
    cache_read_input_tokens: tokens,
    cache_creation_input_tokens: tokens,
  }),
});

/** The same message as the stream that a server would have sent, texts cut into pieces of three code units. */
export function toTranscript(message: TestMessage): string {
  const { content, stop_reason, stop_sequence, usage, ...head } = message;
  const start = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } };
  return [
    encode("message_start", { message: start }),
    encode("ping", {}),
    ...content.map(blockEvents),
    encode("message_delta", { delta: { stop_reason, stop_sequence }, usage }),
    encode("message_stop", {}),
  ].join("");
}

function blockEvents(block: TestBlock, index: number): string {
  return [
    encode("content_block_start", { index, content_block: startOf(block) }),
    ...deltasOf(block).map((delta) => encode("content_block_delta", { index, delta })),
    encode("content_block_stop", { index }),
  ].join("");
}

function startOf(block: TestBlock): object {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return block;
    case "tool_use":
      return { ...block, input: {} };
  }
}

function deltasOf(block: TestBlock): object[] {
  switch (block.type) {
    case "text":
      return pieces(block.text).map((text) => ({ type: "text_delta", text }));
    case "thinking":
      return [
        ...pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "redacted_thinking":
      return [];
    case "tool_use":
      return pieces(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  }
}

function pieces(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / 3) }, (_, index) => text.slice(index * 3, index * 3 + 3));
}

function encode(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}
