import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat, replayResponses } from "../replay.ts";
import { CHAT, play } from "./play.ts";
import { events, REQUEST, write, type Event, type Json } from "./response-events.ts";

/** Responses servers that leave items out where clients look for them, or give several calls one name. */
const text = { type: "output_text", text: "Good day.", annotations: [] };
const message = { id: "msg_1", type: "message", role: "assistant", content: [text] };
const weather = (city: string, names: Json) => ({
  type: "function_call",
  ...names,
  name: "weather",
  arguments: JSON.stringify({ city }),
});
const done = (index: number, item: Json): Event[] => [
  { type: "response.output_item.added", output_index: index, item: { ...item, ...("arguments" in item && { arguments: "" }) } },
  { type: "response.output_item.done", output_index: index, item },
];
const ending = (output: unknown): Event => ({
  type: "response.completed",
  response: { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m", ...Object({ output }) },
});
const [created = ending([])] = events();
const stream = (items: Json[], { output = items, at = (position: number) => position } = {}) =>
  write([created, ...items.flatMap((item, position) => done(at(position), item)), ending(output)]);

const call = weather("Oslo", { id: "fc_1", call_id: "call_1" });
const oslo = { name: "weather", arguments: '{"city":"Oslo"}' };
const rome = { name: "weather", arguments: '{"city":"Rome"}' };

function playWhole(body: string): unknown {
  const input = inputFor({ ...REQUEST, stream: false }, { upstream: "responses", upstreamModel: "m" });
  return JSON.parse(createTranslation("responses", input).response(Buffer.from(body), createMeter(10)).toString());
}

async function playChat(body: string) {
  const input = inputFor({ ...CHAT, stream_options: { include_usage: true } }, { upstream: "responses" });
  const translated = createTranslation("chat", input).stream(createMeter(10));
  const output = [translated.push(Buffer.from(body)), translated.end()].map(String).join("");
  return (await replayChat(output)).choices[0]?.message;
}

describe.for([
  ["its text", [call]],
  ["its call", [message]],
] as const)("a last response that leaves out %s, which was streamed", ([, output]) => {
  const sent = stream([message, call], { output: [...output] });
  const whole = [
    { type: "message", content: [{ text: "Good day." }] },
    { type: "function_call", call_id: "call_1", ...oslo },
  ];

  test("has it for clients that read events, for those that wait for the response, and for the gateway's own store", async () => {
    const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
    expect((await replayResponses(passed)).output).toMatchObject(whole);
    expect(playWhole(sent)).toMatchObject({ output: whole });
  });
});

test("a last response with all items passes without a copy", () => {
  const proper = events().map((event) => Buffer.from(write([event])));
  expect(play(REQUEST, proper, { protocol: "responses" }).unchanged).toBe(proper.length);
});

const SHARED: Record<string, { names: [Json, Json]; at?: (position: number) => number }> = {
  "one id": {
    names: [
      { id: "fc_1", call_id: "call_1" },
      { id: "fc_1", call_id: "call_2" },
    ],
  },
  "one id and one call_id": {
    names: [
      { id: "fc_1", call_id: "call_1" },
      { id: "fc_1", call_id: "call_1" },
    ],
  },
  "one call_id": {
    names: [
      { id: "fc_1", call_id: "call_1" },
      { id: "fc_2", call_id: "call_1" },
    ],
  },
  "one id and one position": {
    names: [
      { id: "fc_1", call_id: "call_1" },
      { id: "fc_1", call_id: "call_2" },
    ],
    at: () => 0,
  },
};

describe.for(Object.entries(SHARED))("calls that share %s", ([, { names, at }]) => {
  const calls = [weather("Oslo", names[0]), weather("Rome", names[1])];
  const sent = stream(calls, at && { at });
  const namesIn = (output: readonly object[], name: string) => new Set(output.map((item) => Reflect.get(item, name)));

  test("are calls with names of their own, streamed", async () => {
    const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
    const { output } = await replayResponses(passed);
    expect(output).toMatchObject([oslo, rome]);
    expect([namesIn(output, "id").size, namesIn(output, "call_id").size]).toEqual([2, 2]);
  });

  test("are, in a complete response", () => {
    const { output } = Object(playWhole(JSON.stringify(ending(calls).response)));
    expect(output).toMatchObject([oslo, rome]);
    expect([namesIn(output, "id").size, namesIn(output, "call_id").size]).toEqual([2, 2]);
  });

  test("are two calls in another protocol, streamed and not", async () => {
    for (const body of [sent, JSON.stringify(ending(calls).response)]) {
      const answer = await playChat(body);
      expect(answer?.tool_calls).toMatchObject([{ function: oslo }, { function: rome }]);
      expect(namesIn(answer?.tool_calls ?? [], "id").size).toBe(2);
    }
  });
});

test.for(["one id", "one call_id", "one id and one position"])(
  "calls that share %s keep their names in a last response with the second alone",
  async (shared) => {
    const { names = [{}, {}], at } = SHARED[shared] ?? {};
    const calls = [weather("Oslo", names[0]), weather("Rome", names[1])];
    const sent = stream(calls, { output: calls.slice(1), ...(at && { at }) });
    const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
    expect((await replayResponses(passed)).output).toMatchObject([oslo, rome]);
    expect(playWhole(sent)).toMatchObject({ output: [oslo, rome] });
    expect((await playChat(sent))?.tool_calls).toMatchObject([{ function: oslo }, { function: rome }]);
  },
);

test("a result that names its call is not that call, even if the last response leaves the call out", () => {
  const shell = { id: "sh_1", type: "shell_call", call_id: "call_1", action: { commands: ["ls"] } };
  const result = { id: "sh_2", type: "shell_call_output", call_id: "call_1", output: [] };
  const sent = stream([shell, result], { output: [result] });
  expect(playWhole(sent)).toMatchObject({ output: [shell, result] });
  const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  const last = /"type":"response.completed".*/.exec(passed)?.[0] ?? "";
  expect(last.match(/"(?:sh_\d)"/g)).toEqual(['"sh_1"', '"sh_2"']);
});

test.for([null, ""])("an event whose type is %j is what its name says", async (type) => {
  const sent = events()
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, type })}\n\n`)
    .join("");
  const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect((await replayResponses(passed)).output).toMatchObject([{ content: [{ text: "Good day." }] }, oslo]);
  expect(playWhole(sent)).toMatchObject({ output: [{ content: [{ text: "Good day." }] }, oslo] });
  expect(await playChat(sent)).toMatchObject({ content: "Good day.", tool_calls: [{ function: oslo }] });
});

test("text and arguments that come only with their ends reach clients of another protocol", async () => {
  const sent = write([
    created,
    { type: "response.output_text.done", item_id: "msg_1", output_index: 0, content_index: 0, text: "Good day." },
    { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
    { type: "response.function_call_arguments.done", item_id: "fc_1", output_index: 1, arguments: oslo.arguments },
    ending([]),
  ]);
  expect(await playChat(sent)).toMatchObject({ content: "Good day.", tool_calls: [{ function: oslo }] });
});

describe.for<[string, unknown]>([
  ["a text", "Good day."],
  ["a part of chat's type", [{ type: "text", text: "Good day." }]],
])("a message whose content is %s", ([, content]) => {
  const odd = { ...message, content };
  const part = Array.isArray(content) ? { part: { type: "text", text: "Good day." } } : { part: text };
  const ofPart = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const streams = {
    "with pieces": write([
      created,
      { type: "response.output_item.added", output_index: 0, item: { ...odd, content: Array.isArray(content) ? [] : "" } },
      { type: "response.content_part.added", ...ofPart, part: { ...part.part, text: "" } },
      { type: "response.output_text.delta", ...ofPart, delta: "Good day." },
      { type: "response.content_part.done", ...ofPart, ...part },
      { type: "response.output_item.done", output_index: 0, item: odd },
      ending([odd]),
    ]),
    "without pieces": write([created, { type: "response.output_item.done", output_index: 0, item: odd }, ending([odd])]),
    "at its start": write([
      created,
      { type: "response.output_item.added", output_index: 0, item: odd },
      { type: "response.output_item.done", output_index: 0, item: odd },
      ending([odd]),
    ]),
  };
  const whole = JSON.stringify(ending([odd]).response);
  const proper = [{ type: "message", content: [{ type: "output_text", text: "Good day.", annotations: [] }] }];

  test.for(Object.entries(streams))("has the part that clients read, streamed %s", async ([, sent]) => {
    const { text: passed } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
    const response = await replayResponses(passed);
    expect(response.output).toMatchObject(proper);
    expect(response.output_text).toBe("Good day.");
    expect(passed).not.toMatch(/"type":"text"|"content":"/);
    expect(await playChat(sent)).toMatchObject({ content: "Good day." });
  });

  test("has it in a complete response, as a stream as well", async () => {
    expect(playWhole(whole)).toMatchObject({ output: proper });
    const { text: passed } = play(REQUEST, [Buffer.from(whole)], { protocol: "responses" });
    expect((await replayResponses(passed)).output_text).toBe("Good day.");
    expect(await playChat(whole)).toMatchObject({ content: "Good day." });
  });
});
