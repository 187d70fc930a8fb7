import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { emptyMessage } from "../empty-message.ts";
import { inputFor } from "../input.ts";
import { replayMessages } from "../replay.ts";
import { CHAT, play } from "./play.ts";

/** Calls of Messages servers that share an id, or whose input comes whole. */
type Json = Record<string, unknown>;

const REQUEST = { ...CHAT, max_tokens: 10 };

interface Call {
  id: string;
  /** Of its start. */
  input: unknown;
  pieces?: string[];
}

const usage = { input_tokens: 5, output_tokens: 9 };
const block = ({ id, input }: Call) => ({ type: "tool_use", id, name: "weather", input });

function stream(calls: readonly Call[], { ends = true } = {}): Buffer[] {
  const events: Json[] = [
    { type: "message_start", message: emptyMessage(5) },
    ...calls.flatMap((call, index) => [
      { type: "content_block_start", index, content_block: block(call) },
      ...(call.pieces ?? []).map((piece) => ({
        type: "content_block_delta",
        index,
        delta: { type: "input_json_delta", partial_json: piece },
      })),
      ...(ends ? [{ type: "content_block_stop", index }] : []),
    ]),
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
  return events.map((event) => Buffer.from(`event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`));
}

function whole(calls: readonly Call[]): string {
  return JSON.stringify({ ...emptyMessage(5), content: calls.map(block), stop_reason: "tool_use", stop_sequence: null, usage });
}

function complete(body: string): { content: Json[] } {
  const input = inputFor({ ...REQUEST, stream: false }, { upstream: "messages", upstreamModel: "m" });
  return JSON.parse(createTranslation("messages", input).response(Buffer.from(body), createMeter(10)).toString());
}

/** What clients have that read the pieces alone. */
function inputsIn(text: string): unknown[] {
  const inputs = new Map<unknown, string>();
  for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
    const { type, index, content_block: begun, delta } = JSON.parse(data ?? "");
    if (type === "content_block_start") inputs.set(index, Object.keys(begun.input).join(""));
    if (type === "content_block_delta") inputs.set(index, `${inputs.get(index)}${delta.partial_json}`);
  }
  return [...inputs.values()].map((input): unknown => JSON.parse(input || "{}"));
}

const oslo = { city: "Oslo" };
const rome = { city: "Rome" };
const pieces = ['{"city":', '"Oslo"}'];

describe("calls that share an id", () => {
  const calls = [
    { id: "toolu_1", input: oslo },
    { id: "toolu_1", input: rome },
  ];

  test.for([
    ["streamed", async () => (await replayMessages(play(REQUEST, stream(calls), { protocol: "messages" }).text)).content],
    ["in JSON", () => Promise.resolve(complete(whole(calls)).content)],
    ["streamed although JSON was requested", () => Promise.resolve(complete(stream(calls).join("")).content)],
  ] as const)("have ids of their own, %s", async ([, read]) => {
    const content = await read();
    expect(content).toMatchObject([
      { id: "toolu_1", input: oslo },
      { id: expect.stringMatching(/^toolu_[0-9a-f]{24}$/), input: rome },
    ]);
  });
});

describe.for<[string, unknown, string[]?]>([
  ["whole", oslo],
  ["as the text of an object", JSON.stringify(oslo)],
  ["whole, and in pieces", oslo, pieces],
  ["whole, and in pieces of which the first is empty", oslo, ["", ...pieces]],
  ["whole, and with an empty piece", oslo, [""]],
])("an input that comes with the start of its call, %s", ([, input, sent = []]) => {
  const calls = [1, 2].map((number) => ({ id: `toolu_${number}`, input, pieces: sent }));

  test.for([true, false])("reaches clients that read the pieces alone, and others (block ends: %j)", async (ends) => {
    const { text } = play(REQUEST, stream(calls, { ends }), { protocol: "messages" });
    expect(inputsIn(text)).toEqual([oslo, oslo]);
    expect((await replayMessages(text)).content).toMatchObject([{ input: oslo }, { input: oslo }]);
  });
});

test("an input that is the text of an object is one for clients of a stream that came as JSON", () => {
  const { text } = play(REQUEST, [Buffer.from(whole([{ id: "toolu_1", input: JSON.stringify(oslo) }]))], {
    protocol: "messages",
  });
  expect(inputsIn(text)).toEqual([oslo]);
});

test("the digits of an input that comes whole are kept", () => {
  const chunks = stream([{ id: "toolu_1", input: oslo }]).map((chunk) =>
    Buffer.from(chunk.toString().replace('{"city":"Oslo"}', '{"number":12345678901234567890}')),
  );
  const { text } = play(REQUEST, chunks, { protocol: "messages" });
  expect(text).toContain('"partial_json":"{\\"number\\":12345678901234567890}"');
});

test("calls in proper form pass without a copy", () => {
  const chunks = stream([
    { id: "toolu_1", input: {}, pieces },
    { id: "toolu_2", input: {} },
  ]);
  expect(play(REQUEST, chunks, { protocol: "messages" }).unchanged).toBe(chunks.length);
});
