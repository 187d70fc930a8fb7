import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

interface Play {
  protocol: Protocol;
  upstreamModel: string;
  wantsUsage: boolean;
  pieces: readonly Buffer[];
}

function play({ protocol, upstreamModel, wantsUsage, pieces }: Play) {
  const request = {
    model: "client-name",
    max_tokens: 100,
    stream: true,
    messages: [{ role: "user", content: "x" }],
    ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
  };
  const translation = createTranslation(protocol, inputFor(request, { upstream: protocol, upstreamModel }));
  const meter = createMeter(100);
  const machine = translation.stream(meter);
  const output = pieces.map((piece) => {
    const pushed = machine.push(piece);
    return pushed === "unchanged" ? piece : pushed;
  });
  const text = Buffer.concat([...output, machine.end()]).toString("latin1");
  return { text, outcome: machine.outcome(), metered: meter.final(), outputBytes: meter.outputBytes() };
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

const words = fc.oneof(
  fc.constantFrom("", " token", "a\nb", 'a"b', "\\", "héllo", "日本語", "\u0001", "\u2028", "data: {", "}\n\n", "null", "stop"),
  fc.string({ maxLength: 20 }),
);
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

const chatChunk = (delta: object, more: object = {}, choice: object = {}) => ({
  id: "x",
  created: 1,
  model: "server-name",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: null, ...choice }],
  ...more,
});
const chatEvent = fc.oneof(
  { weight: 12, arbitrary: words.map((content) => chatChunk({ content })) },
  { weight: 3, arbitrary: words.map((content) => chatChunk({ content }, { usage: null })) },
  { weight: 2, arbitrary: words.map((reasoning_content) => chatChunk({ reasoning_content })) },
  { weight: 2, arbitrary: words.map((content) => chatChunk({ content, reasoning: content })) },
  { weight: 1, arbitrary: words.map((content) => chatChunk({ content }, { usage })) },
  { weight: 1, arbitrary: words.map((content) => chatChunk({ content }, {}, { usage })) },
  { weight: 1, arbitrary: words.map((content) => chatChunk({ content }, {}, { finish_reason: "stop" })) },
  {
    weight: 1,
    arbitrary: words.map((content) => ({ ...chatChunk({}), choices: [{ delta: { content } }, { delta: { content: "b" } }] })),
  },
  { weight: 1, arbitrary: words.map((text) => chatChunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      chatChunk({ role: "assistant", content: "" }),
      { choices: [], usage },
      { error: { message: "no" } },
    ),
  },
);
const blockDelta = (delta: object) => ({ type: "content_block_delta", index: 0, delta });
const messagesEvent = fc.oneof(
  { weight: 12, arbitrary: words.map((text) => blockDelta({ type: "text_delta", text })) },
  { weight: 3, arbitrary: words.map((thinking) => blockDelta({ type: "thinking_delta", thinking })) },
  { weight: 3, arbitrary: words.map((json) => blockDelta({ type: "input_json_delta", partial_json: json })) },
  {
    weight: 1,
    arbitrary: words.map((text) => ({ type: "content_block_start", index: 0, content_block: { type: "text", text } })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      { type: "message_start", message: { id: "x", model: "server-name", usage: { input_tokens: 5, output_tokens: 1 } } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
      { type: "ping" },
    ),
  },
);

/** As servers write them: compact or with blanks, with escapes for what is no ASCII, each with a line break of its own. */
const write = fc.record({
  json: fc.constantFrom<(value: object) => string>(
    (value) => JSON.stringify(value),
    (value) => JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " "),
    (value) =>
      JSON.stringify(value).replaceAll(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`),
  ),
  lineEnd: fc.constantFrom("\n", "\n", "\n", "\r\n", "\r"),
});

test("events recognised by their form pass, are edited and are counted as if each had been read", () => {
  const events = fc.oneof(
    fc.record({ protocol: fc.constant("chat" as const), events: fc.array(chatEvent, { maxLength: 40 }) }),
    fc.record({ protocol: fc.constant("messages" as const), events: fc.array(messagesEvent, { maxLength: 40 }) }),
  );
  const shape = fc.record({
    upstreamModel: fc.constantFrom("client-name", "server-name"),
    wantsUsage: fc.boolean(),
    sizes: fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 }),
  });
  fc.assert(
    fc.property(events, write, shape, ({ protocol, events }, { json, lineEnd }, { sizes, ...given }) => {
      const lines = events.map((each) => {
        const name = "type" in each && protocol === "messages" ? `event: ${each.type}${lineEnd}` : "";
        return `${name}data: ${json(each)}${lineEnd}${lineEnd}`;
      });
      const bytes = Buffer.from(`${lines.join("")}data: [DONE]\n\n`);
      // Byte by byte nothing is ever whole: every event is read.
      const read = play({ protocol, ...given, pieces: cut(bytes, [1]) });
      expect(play({ protocol, ...given, pieces: cut(bytes, sizes) })).toEqual(read);
      expect(play({ protocol, ...given, pieces: [bytes] })).toEqual(read);
      expect(
        play({ protocol, ...given, pieces: lines.map((line) => Buffer.from(line)).concat(Buffer.from("data: [DONE]\n\n")) }),
      ).toEqual(read);
    }),
    { numRuns: 150 },
  );
});

test.each([
  ["blank lines", "\n\n"],
  ["comments", ":\n\n"],
  ["data over several lines", "data: 1\ndata: 2\n\n"],
])("a chunk full of %s after an event of a known form is decoded a few times, not once for each block", (_, block) => {
  const known = `data: ${JSON.stringify(chatChunk({ content: "a" }))}\n\n`;
  const chunk = Buffer.from(block.repeat(4_000));
  const toString = vi.spyOn(Buffer.prototype, "toString");
  try {
    play({ protocol: "chat", upstreamModel: "client-name", wantsUsage: true, pieces: [Buffer.from(known), chunk] });
    const wholeChunks = toString.mock.contexts.filter(
      (bytes, call) => Buffer.isBuffer(bytes) && bytes.length > chunk.length / 2 && toString.mock.calls[call]?.[1] === undefined,
    );
    expect(wholeChunks.length).toBeLessThan(20);
  } finally {
    toString.mockRestore();
  }
});
