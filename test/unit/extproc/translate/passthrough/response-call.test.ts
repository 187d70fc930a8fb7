import { expect, test } from "vitest";
import { replayResponses } from "../replay.ts";
import { play } from "./play.ts";
import { complete, events, readPieces, REQUEST, write, type Event, type Json } from "./response-events.ts";

const withoutArguments = (all: readonly Event[]) => write(all).replaceAll('"{\\"city\\":\\"Oslo\\"}"', '""');

test.for([
  { name: "with empty pieces", sent: withoutArguments(events()) },
  { name: "without pieces", sent: withoutArguments(events().filter(({ type }) => !type.includes("arguments"))) },
  { name: "without any", sent: withoutArguments(events()).replaceAll(',"arguments":""', "") },
])("a call without arguments, $name, ends with those of none, as clients parse them", async ({ sent }) => {
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(readPieces(text).arguments).toBe("{}");
  expect(text).toMatch(/^event: response.function_call_arguments.done\n.*"arguments":"\{\}"/m);
  expect(text).toMatch(/^event: response.output_item.done\n.*"arguments":"\{\}"/m);
  expect(await replayResponses(text)).toMatchObject({ output: [{}, { call_id: "call_1", arguments: "{}" }] });
});

const ended = (written: unknown, more: (event: Event) => boolean = () => true) =>
  write(
    events()
      .filter(more)
      .map((event) => (event.type === "response.function_call_arguments.done" ? { ...event, arguments: written } : event)),
  );
const isNoDelta = ({ type }: Event) => type !== "response.function_call_arguments.delta";

test.for([
  { name: "ends without them", sent: ended(undefined) },
  { name: "ends with an empty text", sent: ended("") },
  { name: "ends with an object", sent: ended({ city: "Oslo" }) },
  { name: "ends with an object that no pieces precede", sent: ended({ city: "Oslo" }, isNoDelta) },
  { name: "has only empty pieces", sent: ended('{"city":"Oslo"}').replace('"delta":"{\\"city\\":\\"Oslo\\"}"', '"delta":""') },
  {
    name: "has an object for a piece",
    sent: ended('{"city":"Oslo"}').replace(/"delta":("\{.*?\}")/, (_, text: string) => `"delta":${JSON.parse(text)}`),
  },
  {
    name: "has them from its start",
    sent: ended("", isNoDelta).replace('"arguments":""', '"arguments":"{\\"city\\":\\"Oslo\\"}"'),
  },
])("arguments of a call whose text $name are given once, and whole where the text ends", async ({ name, sent }) => {
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(readPieces(text).arguments).toBe(name === "has them from its start" ? "" : '{"city":"Oslo"}');
  const ends = [...text.matchAll(/^event: response.function_call_arguments.done\ndata: (.*)$/gm)];
  expect(ends.map(([, data = ""]) => JSON.parse(data).arguments)).toEqual(['{"city":"Oslo"}']);
  expect(await replayResponses(text)).toMatchObject({ output: [{}, { call_id: "call_1", arguments: '{"city":"Oslo"}' }] });
});

test.for([{ status: "incomplete" }, {}])(
  "a call that its response cuts off does not end as one without arguments: %o",
  (status) => {
    const [before, response] = [events().slice(0, 9), events().at(-1)?.response];
    const end = { ...response, status: undefined, ...status, incomplete_details: { reason: "max_output_tokens" }, output: [] };
    const { text } = play(REQUEST, [Buffer.from(write([...before, { type: "response.incomplete", response: end }]))], {
      protocol: "responses",
    });
    expect(text).toMatch(/^event: response.output_item.done\n.*"arguments":""/m);
    expect(text).not.toContain("{}");
    const call: Json = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "" };
    const last = { ...call, id: "fc_2", call_id: "call_2" };
    expect(JSON.parse(complete(JSON.stringify({ ...end, output: [call, last] })))).toMatchObject({
      status: "incomplete",
      output: [{ ...call, arguments: "{}" }, last],
    });
  },
);

test("a refusal that lacks its text at its end has that of its pieces", async () => {
  const sent = write(
    events().map((event) => {
      const { text: _, ...rest } = event;
      return { ...rest, type: event.type.replace("output_text", "refusal") };
    }),
  )
    .replaceAll('{"type":"output_text","text":"",', '{"type":"refusal","refusal":"",')
    .replaceAll('{"type":"output_text","text":"Good day.",', '{"type":"refusal",');
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(await replayResponses(text)).toMatchObject({ output: [{ content: [{ type: "refusal", refusal: "Good day." }] }, {}] });
});

test("what an item lacks at its end is filled in once, however often a server repeats short events", () => {
  const written = JSON.stringify({ city: "x".repeat(100_000) });
  const call = { id: "fc_1", type: "function_call", call_id: "call_1" };
  const [created] = events();
  const piece = { type: "response.function_call_arguments", item_id: "fc_1", output_index: 0 };
  const end = { type: "response.completed", response: { id: "resp_1", output: [call] } };
  const sent = write([
    ...(created === undefined ? [] : [created]),
    { type: "response.output_item.added", output_index: 0, item: { ...call, name: "weather" } },
    { ...piece, type: `${piece.type}.delta`, delta: written },
    ...Array.from({ length: 50 }, () => ({ ...piece, type: `${piece.type}.done`, arguments: "" })),
    ...Array.from({ length: 50 }, () => ({ type: "response.output_item.done", output_index: 0, item: call })),
    ...Array.from({ length: 50 }, () => end),
  ]);
  const { text, outcome } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(outcome).toBe("complete");
  // The piece, the end of the text, that of the call, and that of the response.
  expect(text.split("x".repeat(100_000)).slice(1)).toHaveLength(4);
});

test("a complete call without arguments gets those of none, unless it was cut off", () => {
  const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "" };
  const cut = { ...call, id: "fc_2", call_id: "call_2", status: "incomplete" };
  expect(JSON.parse(complete(JSON.stringify({ output: [call, cut] })))).toMatchObject({
    output: [{ ...call, arguments: "{}" }, cut],
  });
});
