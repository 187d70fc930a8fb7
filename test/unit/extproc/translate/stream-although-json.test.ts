import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createMeter, type MeteredUsage } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { messageArbitrary, toTranscript } from "./chat-via-messages/messages.ts";
import { inputFor } from "./input.ts";
import { emptyMessage } from "./empty-message.ts";

interface Pair {
  client: Protocol;
  upstream: Protocol;
}

const REQUEST = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };

/** What a client that asked for JSON reads, and what is counted. */
function read({ client, upstream }: Pair, body: string): { answer: unknown; metered: MeteredUsage } {
  const meter = createMeter(10);
  const input = inputFor(REQUEST, { upstream, upstreamModel: "m" });
  const answer: unknown = JSON.parse(createTranslation(client, input).response(Buffer.from(body), meter).toString());
  return { answer, metered: meter.final() };
}

function chunk(choice: object | null, more: object = {}): string {
  const choices = choice === null ? [] : [{ index: 0, ...choice }];
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices };
  return `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
}

function delta(delta: object): string {
  return chunk({ delta, finish_reason: null });
}

const CALL = { id: "call_1", type: "function", function: { name: "f", arguments: '{"n":12345678901234567890}' } };
const USAGE = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const MESSAGE = {
  role: "assistant",
  content: "Hé!",
  reasoning_content: "hm, hm",
  reasoning_details: [
    { type: "x", n: 1 },
    { type: "x", n: 2 },
  ],
  tool_calls: [CALL, { ...CALL, id: "call_2" }],
};
const COMPLETION = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  usage: USAGE,
  choices: [{ index: 0, finish_reason: "tool_calls", stop_reason: null, message: MESSAGE }],
};
const CHUNKS = [
  delta({ role: "assistant", content: "" }),
  delta({ reasoning_content: "hm,", reasoning_details: [{ type: "x", n: 1 }] }),
  delta({ reasoning_content: " hm", reasoning_details: [{ type: "x", n: 2 }] }),
  delta({ content: "H" }),
  delta({ content: "é!", tool_calls: null }),
  delta({ tool_calls: [{ index: 0, ...CALL, function: { name: "f", arguments: "" } }] }),
  delta({ tool_calls: [{ index: 1, ...CALL, id: "call_2", function: { name: "f", arguments: '{"n":' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: '{"n":12345678901234567890}' } }] }),
  delta({ tool_calls: [{ index: 1, function: { arguments: "12345678901234567890}" } }] }),
  chunk({ delta: {}, finish_reason: "tool_calls", stop_reason: null }),
  chunk(null, { usage: USAGE }),
  "data: [DONE]\n\n",
];

describe.for<Pair>([
  { client: "chat", upstream: "chat" },
  { client: "messages", upstream: "chat" },
])("a chat server that streams although JSON was requested, to a $client client", (pair) => {
  test("gives the complete answer and the same counts", () => {
    const streamed = read(pair, CHUNKS.join(""));
    expect(streamed).toEqual(read(pair, JSON.stringify(COMPLETION)));
    expect(streamed.metered).toMatchObject({ usage: { inputTokens: 9, outputTokens: 5 }, isEstimated: false });
  });

  test("gives it once if the last event repeats the message, as MiniMax's does", () => {
    const finish = chunk({ finish_reason: "tool_calls", stop_reason: null, message: MESSAGE }, { object: "chat.completion" });
    const repeating = [...CHUNKS.slice(0, -3), finish, ...CHUNKS.slice(-2)].join("");
    expect(read(pair, repeating)).toEqual(read(pair, CHUNKS.join("")));
  });

  test.each([
    { index: 0, id: "call_2", function: { name: "f", arguments: '"two"}' } },
    { function: { arguments: '"two"}' } },
    { id: "call_2", function: { name: "f", arguments: '"two"}' } },
  ])("gives all calls if their server numbers all of them 0, and goes on with %j", (piece) => {
    const call = (id: string, written: string) =>
      delta({ tool_calls: [{ index: 0, ...CALL, id, function: { name: "f", arguments: written } }] });
    const more = delta({ tool_calls: [piece] });
    const end = chunk({ delta: {}, finish_reason: "tool_calls" }) + chunk(null, { usage: USAGE });
    const calls = [
      { ...CALL, function: { name: "f", arguments: '{"n":"one"}' } },
      { ...CALL, id: "call_2", function: { name: "f", arguments: '{"n":"two"}' } },
    ];
    const whole = chunk(null, {
      choices: [{ index: 0, message: { ...MESSAGE, content: null, tool_calls: calls }, finish_reason: "tool_calls" }],
      usage: USAGE,
    }).slice("data: ".length);
    const streamed =
      delta({ ...MESSAGE, content: null, tool_calls: undefined }) +
      call("call_1", '{"n":"one"}') +
      call("call_2", '{"n":') +
      more +
      end;
    expect(read(pair, streamed)).toEqual(read(pair, whole));
  });

  test("gives an error if the stream is cut", () => {
    for (const end of [1, 4, 9]) {
      expect(() => read(pair, CHUNKS.slice(0, end).join(""))).toThrow(expect.objectContaining({ code: "upstream_error" }));
    }
  });

  test("gives the server's own error", () => {
    const error = { error: { message: "slow down", type: "rate_limit_error", code: 429 } };
    expect(() => read(pair, `${delta({ content: "a" })}data: ${JSON.stringify(error)}\n\n`)).toThrow(
      expect.objectContaining({ code: "rate_limited" }),
    );
  });
});

test("several streamed choices are several choices, with their bytes and the server's own members", () => {
  const usage = '{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}';
  const first = '{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":"stop","x":1.50}';
  const second = '{"index":1,"delta":{"role":"assistant","content":"b","y":9007199254740993},"finish_reason":"length"}';
  const body = `data: {"id":"c","created":1,"model":"m","z":0.10,"choices":[${first},${second}],"usage":${usage}}\n\ndata: [DONE]\n\n`;
  const input = inputFor(REQUEST, { upstream: "chat", upstreamModel: "m" });
  const answer = createTranslation("chat", input).response(Buffer.from(body), createMeter(1)).toString();
  expect(answer).toBe(
    '{"id":"c","object":"chat.completion","created":1,"model":"m","z":0.10,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"choices":[{"index":0,"finish_reason":"stop","x":1.50,"message":{"role":"assistant","content":"a"}},{"index":1,"finish_reason":"length","message":{"role":"assistant","content":"b","y":9007199254740993}}]}',
  );
});

describe.for<Pair>([
  { client: "chat", upstream: "messages" },
  { client: "messages", upstream: "messages" },
])("a messages server that streams although JSON was requested, to a $client client", (pair) => {
  test("gives the complete answer and the same counts", () => {
    fc.assert(
      fc.property(messageArbitrary, (message) => {
        expect(read(pair, toTranscript(message))).toEqual(read(pair, JSON.stringify(message)));
      }),
      { numRuns: 300 },
    );
  });

  test("gives an error if the stream is cut, and the server's own error", () => {
    const start = 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3}}}\n\n';
    expect(() => read(pair, start)).toThrow(expect.objectContaining({ code: "upstream_error" }));
    const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n';
    expect(() => read(pair, start + error)).toThrow(expect.objectContaining({ code: "overloaded" }));
  });
});

test("the count of output at the start of a message that ends without one is no report", () => {
  const events = [
    { type: "message_start", message: emptyMessage(3) },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "forty bytes of text, which are ten tokens" } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const { answer, metered } = read({ client: "messages", upstream: "messages" }, body);
  expect(metered).toMatchObject({ usage: { inputTokens: 3, outputTokens: 11 }, isEstimated: true });
  expect(answer).toMatchObject({ stop_reason: "end_turn", usage: { input_tokens: 3, output_tokens: 11 } });
});

test("blocks without a start, or of one index, are all in the complete message", () => {
  const delta = (index: number, text: string) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text } });
  const begin = (block: object) => ({ type: "content_block_start", index: 1, content_block: block });
  const events = [
    { type: "message_start", message: { id: "msg_1", content: [], usage: { input_tokens: 3 } } },
    delta(0, "a"),
    delta(0, "b"),
    { type: "content_block_delta", index: 2, delta: { type: "constructor", text: "none" } },
    begin({ type: "text", text: "" }),
    delta(1, "c"),
    begin({ type: "tool_use", id: "t", name: "f", input: {} }),
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"d":1}' } },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  expect(read({ client: "messages", upstream: "messages" }, body).answer).toMatchObject({
    content: [
      { type: "text", text: "ab" },
      { type: "text", text: "c" },
      { type: "tool_use", id: "t", name: "f", input: { d: 1 } },
    ],
  });
});

test("citations, usage and stop details of a stream are in the complete message", () => {
  const events = [
    {
      type: "message_start",
      message: emptyMessage(3),
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: { url: "https://x" } } },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "refusal", stop_details: { type: "refusal" } },
      usage: { input_tokens: null, output_tokens: 7 },
      context_management: { applied_edits: [] },
    },
    { type: "message_stop" },
  ];
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  expect(read({ client: "messages", upstream: "messages" }, body).answer).toEqual({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "a", citations: [{ url: "https://x" }] }],
    usage: { input_tokens: 3, output_tokens: 7 },
    stop_reason: "refusal",
    stop_details: { type: "refusal" },
    context_management: { applied_edits: [] },
  });
});
