import { describe, expect, inject, test } from "vitest";
import { PROTOCOLS, type Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../extproc/translate/translation.ts";
import { inputFor } from "./input.ts";

/** What no model answers: thousands of calls, blocks and items, from whichever server for whichever client (docs/decisions/0031). */
const TOO_MANY_CALLS = 4_097;
const TOO_MANY = 12_289;
const PAIRS = PROTOCOLS.flatMap((client) => PROTOCOLS.map((upstream) => ({ client, upstream })));

const REQUESTS = {
  chat: { messages: [{ role: "user", content: "hi" }], max_tokens: 1_000 },
  messages: { messages: [{ role: "user", content: "hi" }], max_tokens: 1_000 },
  responses: { input: "hi" },
} as const satisfies Record<Protocol, object>;

interface Pair {
  client: Protocol;
  upstream: Protocol;
}

function translationOf({ client, upstream }: Pair, stream: boolean): Translation {
  return createTranslation(client, inputFor({ model: "modelx-v4-pro", stream, ...REQUESTS[client] }, { upstream }));
}

const times = <Made>(count: number, make: (index: number) => Made): Made[] =>
  Array.from({ length: count }, (_, index) => make(index));

const chatAnswer = (members: object) => ({
  choices: [{ index: 0, message: { role: "assistant", content: null, ...members }, finish_reason: "stop" }],
});
const message = (content: object[]) => ({
  id: "m",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
});
const response = (output: object[]) => ({ id: "r", object: "response", status: "completed", model: "m", output });

/** A complete answer with so many calls. */
const CALLS = {
  chat: (count) =>
    chatAnswer({
      tool_calls: times(count, (index) => ({ id: `c${index}`, type: "function", function: { name: "f", arguments: "{}" } })),
    }),
  messages: (count) => message(times(count, (index) => ({ type: "tool_use", id: `c${index}`, name: "f", input: {} }))),
  responses: (count) =>
    response(
      times(count, (index) => ({ type: "function_call", id: `f${index}`, call_id: `c${index}`, name: "f", arguments: "{}" })),
    ),
} as const satisfies Record<Protocol, (count: number) => object>;

/** A complete answer with so many other blocks; chat completions have none. */
const BLOCKS = {
  messages: (count) => message(times(count, () => ({ type: "text", text: "a" }))),
  responses: (count) =>
    response([{ type: "message", role: "assistant", content: times(count, () => ({ type: "output_text", text: "a" })) }]),
} as const satisfies Partial<Record<Protocol, (count: number) => object>>;

/** The text of the answer, or of its error. */
function answerOf(pair: Pair, body: object, stream: boolean): string {
  const bytes = Buffer.from(JSON.stringify(body));
  const translation = translationOf(pair, stream);
  try {
    if (!stream) return translation.response(bytes, createMeter(0)).toString("utf8");
    const machine = translation.stream(createMeter(0));
    machine.push(bytes);
    return machine.end().toString("utf8");
  } catch (thrown) {
    return String(thrown);
  }
}

describe.for(PAIRS)("$client via $upstream", (pair) => {
  test.for([true, false])("a complete answer of thousands of tool calls is refused (stream: %s)", (stream) => {
    expect(answerOf(pair, CALLS[pair.upstream](TOO_MANY_CALLS), stream)).toContain("more than 4096 tool calls");
  });

  test.for([true, false])("a hundred tool calls are accepted (stream: %s)", (stream) => {
    const answer = answerOf(pair, CALLS[pair.upstream](100), stream);
    expect(answer).not.toContain("GatewayError");
    expect(answer).toContain("c99");
  });
});

/** Each is a line more to read and to keep, but no event. */
const LINES = [
  { what: "empty comments", line: ":\n" },
  { what: "comments", line: ": x\r\n" },
  { what: "unknown fields", line: "x\n" },
  { what: "empty data", line: "data\n" },
  { what: "data", line: "data: x\n" },
  { what: "names", line: "event: a\n" },
];
const MANY_LINES = 300_000;
const LINE_CASES = PAIRS.flatMap((pair, row) =>
  LINES.map((lines, column) => ({ ...pair, ...lines, isByDay: row % LINES.length === column })),
);

/** By day each pair and each kind of line, at night each pair with each kind: one counter counts them all. */
test.for(LINE_CASES.filter(({ isByDay }) => isByDay || inject("isNight")))(
  "a complete answer of hundreds of thousands of lines is refused: $what, $client via $upstream",
  ({ line, client, upstream }) => {
    const body = Buffer.from(line.repeat(MANY_LINES));
    expect(() => translationOf({ client, upstream }, false).response(body, createMeter(0))).toThrow("lines at once");
  },
);

test("so are the lines of one event in a stream, however many chunks they come in", () => {
  const machine = translationOf({ client: "messages", upstream: "chat" }, true).stream(createMeter(0));
  const chunk = Buffer.from("data: x\n".repeat(MANY_LINES / 10));
  const written = Array.from({ length: 10 }, () => machine.push(chunk).toString("utf8")).join("");
  expect(written).toContain("lines at once");
});

const BLOCK_CASES = PROTOCOLS.flatMap((client) => [
  { client, upstream: "messages", make: BLOCKS.messages } as const,
  { client, upstream: "responses", make: BLOCKS.responses } as const,
]).flatMap((each) => [true, false].map((stream) => ({ ...each, stream })));

test.for(BLOCK_CASES)(
  "a complete answer of thousands of blocks is refused: $client via $upstream (stream: $stream)",
  ({ make, stream, ...pair }) => {
    expect(answerOf(pair, make(TOO_MANY), stream)).toContain("more than 12288 blocks");
  },
);

test.for([
  ["chat", true],
  ["chat", false],
  ["messages", true],
  ["messages", false],
] as const)("a Responses server may send nothing but a tool call without arguments (%s, stream: %s)", ([client, stream]) => {
  const answer = answerOf({ client, upstream: "responses" }, CALLS.responses(1), stream);
  expect(answer).not.toContain("error");
  expect(answer).toContain('"c0"');
});

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const piece = (delta: object) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;

/** Streams that do not end, piece by piece: what the gateway would keep of them grows with each. */
const ENDLESS: {
  what: string;
  upstream: Protocol;
  clients: readonly Protocol[];
  pieces: (index: number) => string;
  count: number;
}[] = [
  {
    what: "calls",
    upstream: "messages",
    clients: ["chat", "responses"],
    pieces: (index) => event("content_block_start", { index, content_block: { type: "tool_use", id: `c${index}`, name: "f" } }),
    count: TOO_MANY_CALLS,
  },
  {
    what: "calls",
    upstream: "responses",
    clients: ["chat", "messages"],
    pieces: (index) =>
      event("response.output_item.added", {
        output_index: index,
        item: { type: "function_call", call_id: `c${index}`, name: "f" },
      }),
    count: TOO_MANY_CALLS,
  },
  {
    what: "blocks that stay open",
    upstream: "messages",
    clients: ["messages"],
    pieces: (index) => event("content_block_start", { index, content_block: { type: "text", text: "" } }),
    count: TOO_MANY,
  },
  {
    what: "items of an unknown kind",
    upstream: "responses",
    clients: PROTOCOLS,
    pieces: (index) => event("response.output_item.done", { output_index: index, item: { type: "odd" } }),
    count: TOO_MANY,
  },
  {
    what: "items at a position beyond all others",
    upstream: "responses",
    clients: PROTOCOLS,
    pieces: () => event("response.output_item.added", { output_index: Number.MAX_SAFE_INTEGER, item: { type: "odd" } }),
    count: TOO_MANY,
  },
  {
    what: "empty pieces of calls that have not begun",
    upstream: "responses",
    clients: ["responses"],
    pieces: (index) => event("response.function_call_arguments.delta", { output_index: index, delta: "" }),
    count: TOO_MANY,
  },
  {
    what: "parts of one item",
    upstream: "responses",
    clients: ["chat", "messages"],
    pieces: (index) => event("response.output_text.delta", { output_index: 0, content_index: index, delta: "a" }),
    count: TOO_MANY,
  },
  {
    what: "text that a response has again at its end",
    upstream: "responses",
    clients: ["responses"],
    pieces: (index) =>
      index === 0
        ? event("response.output_item.added", { output_index: 0, item: { type: "message", content: [] } })
        : event("response.output_text.delta", { output_index: 0, content_index: 0, delta: "a".repeat(1_000_000) }),
    count: 60,
  },
  {
    what: "text that a response has again at its end",
    upstream: "chat",
    clients: ["responses"],
    pieces: () => piece({ content: "a".repeat(1_000_000) }),
    count: 60,
  },
  {
    what: "arguments",
    upstream: "messages",
    clients: ["chat", "responses"],
    pieces: (index) =>
      index === 0
        ? event("content_block_start", { index: 0, content_block: { type: "tool_use", id: "c", name: "f" } })
        : event("content_block_delta", { index: 0, delta: { type: "input_json_delta", partial_json: "1".repeat(1_000_000) } }),
    count: 60,
  },
];
const STREAMS = ENDLESS.flatMap(({ clients, ...rest }) => clients.map((client) => ({ client, ...rest })));

test.for(STREAMS)("a stream of endless $what fails: $client via $upstream", ({ client, upstream, pieces, count }) => {
  const machine = translationOf({ client, upstream }, true).stream(createMeter(0));
  let text = "";
  try {
    for (let index = 0; index < count && machine.outcome() === "open"; index += 1)
      text = machine.push(Buffer.from(pieces(index))).toString();
  } catch (thrown) {
    text = String(thrown);
  }
  expect(text).toMatch(/more than \d+ (tool calls|blocks)|too large/);
});

test.for(PROTOCOLS)("thinking nested deeper than the stack is not an internal error of the gateway: %s via chat", (client) => {
  const depth = 40_000;
  const content = `${'[{"type":"thinking","thinking":'.repeat(depth)}"a"${"}]".repeat(depth)}`;
  const body = Buffer.from(`{"choices":[{"index":0,"message":{"content":${content}},"finish_reason":"stop"}]}`);
  const answer = () => translationOf({ client, upstream: "chat" }, false).response(body, createMeter(0));
  expect(answer).not.toThrow(RangeError);
});

const DEEP = `${"[".repeat(40_000)}${"]".repeat(40_000)}`;
const data = (json: string) => `data: ${json}\n\n`;
const ITEM = `"item":{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"a","x":${DEEP}}]}`;

/** What the gateway writes itself, of what servers leave out, has their values in it. */
const NESTED = [
  { what: "an item that ends without a start", text: data(`{"type":"response.output_item.done","output_index":0,${ITEM}}`) },
  {
    what: "a response that begins with another event",
    text: data(`{"type":"response.in_progress","response":{"id":"r","x":${DEEP}}}`),
  },
  {
    what: "an item without an end",
    text:
      data('{"type":"response.created","response":{"id":"r"}}') +
      data(`{"type":"response.output_item.added","output_index":0,${ITEM}}`) +
      data('{"type":"response.completed","response":{"id":"r","status":"completed"}}'),
  },
];

test.for(NESTED)("nor is $what, in a Responses stream", ({ text }) => {
  const machine = translationOf({ client: "responses", upstream: "responses" }, true).stream(createMeter(0));
  expect(() => machine.push(Buffer.from(text))).toThrow("The model server sent JSON that is nested too deeply.");
});

test("nor are counts of usage that come before the end of a chat stream", () => {
  const request = {
    model: "m",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
    stream_options: { include_usage: true },
  };
  const machine = createTranslation("chat", inputFor(request, { upstream: "chat" })).stream(createMeter(0));
  const choice = '"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]';
  const text = `${data(`{${choice},"usage":{"prompt_tokens":1,"completion_tokens":1,"x":${DEEP}}}`)}data: [DONE]\n\n`;
  expect(() => machine.push(Buffer.from(text))).toThrow("The model server sent JSON that is nested too deeply.");
});

/** `String` throws at it. */
const ODD = { toString: 1 };
const ODD_PIECES = {
  chat: [{ choices: [{ index: 0, delta: { content: "a", reasoning_details: [{ type: ODD, data: "b" }] } }] }],
  messages: [
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: ODD, text: "a" } },
  ],
  responses: [
    { type: "response.output_item.added", output_index: 0, item: { type: ODD, data: "a" } },
    { type: "response.output_text.delta", output_index: ODD, content_index: ODD, delta: "a" },
  ],
} as const satisfies Record<Protocol, readonly object[]>;

test.for(PAIRS)("a type that is no text is not an internal error of the gateway: $client via $upstream", (pair) => {
  const text = ODD_PIECES[pair.upstream].map((each) => data(JSON.stringify(each))).join("");
  expect(() => translationOf(pair, true).stream(createMeter(0)).push(Buffer.from(text))).not.toThrow(TypeError);
  // Servers may stream although JSON was requested.
  expect(() => translationOf(pair, false).response(Buffer.from(text), createMeter(0))).not.toThrow(TypeError);
});

const COMMENTED = PAIRS.filter(({ client, upstream }) => client !== upstream && upstream !== "messages");

test.for(COMMENTED)("a flood of comments does not become a flood of pings: $client via $upstream", (pair) => {
  const machine = translationOf(pair, true).stream(createMeter(0));
  const start = pair.upstream === "chat" ? piece({ content: "a" }) : event("response.created", { response: { id: "r" } });
  machine.push(Buffer.from(start));
  const flood = Buffer.from(":\n".repeat(50_000));
  const outputs = [machine.push(flood), machine.push(flood)].map((output) => output.length);
  expect(outputs[0]).toBeLessThan(flood.length);
  expect(outputs[0]).toBeGreaterThan(0);
  expect(outputs[1]).toBe(0);
});

test.for(PAIRS)("the size of an unfinished event is known: $client via $upstream", (pair) => {
  const machine = translationOf(pair, true).stream(createMeter(0));
  machine.push(Buffer.from(`: a comment\n\ndata: {"a":"${"x".repeat(100_000)}`));
  expect(machine.heldBytes()).toBeGreaterThanOrEqual(100_000);
  machine.push(Buffer.from('"}\n\n'));
  expect(machine.heldBytes()).toBe(0);
});

test.for(PAIRS)("a stream of tiny events although JSON was requested is refused: $client via $upstream", (pair) => {
  const tiny = pair.upstream === "chat" ? 'data: {"choices":[]}\n\n' : 'data: {"type":"ping"}\n\n';
  const answer = () => translationOf(pair, false).response(Buffer.from(tiny.repeat(65_537)), createMeter(0));
  expect(answer).toThrow("more than 65536 events");
});
