import { expect, test } from "vitest";
import { replayResponses } from "../replay.ts";
import { play } from "./play.ts";

/** Events of responses that lack what clients' libraries require. */
type Json = Record<string, unknown>;

const REQUEST = { model: "m", input: "hi", stream: true };

interface Event extends Json {
  type: string;
  item?: Json;
}

function events(): Event[] {
  const response = (status: string, output: Json[]) => ({ id: "resp_1", object: "response", status, model: "m", output });
  const text = { type: "output_text", text: "Good day.", annotations: [] };
  const message = (content: Json[]) => ({ id: "msg_1", type: "message", role: "assistant", content });
  const call = (written: string) => ({
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    name: "weather",
    arguments: written,
  });
  const ofPart = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const ofCall = { item_id: "fc_1", output_index: 1 };
  return [
    { type: "response.created", response: response("in_progress", []) },
    { type: "response.output_item.added", output_index: 0, item: message([]) },
    { type: "response.content_part.added", ...ofPart, part: { ...text, text: "" } },
    ...["Good ", "day."].map((delta) => ({ type: "response.output_text.delta", ...ofPart, delta })),
    { type: "response.output_text.done", ...ofPart, text: "Good day." },
    { type: "response.content_part.done", ...ofPart, part: text },
    { type: "response.output_item.done", output_index: 0, item: message([text]) },
    { type: "response.output_item.added", output_index: 1, item: call("") },
    { type: "response.function_call_arguments.delta", ...ofCall, delta: '{"city":"Oslo"}' },
    { type: "response.function_call_arguments.done", ...ofCall, arguments: '{"city":"Oslo"}' },
    { type: "response.output_item.done", output_index: 1, item: call('{"city":"Oslo"}') },
    { type: "response.completed", response: response("completed", [message([text]), call('{"city":"Oslo"}')]) },
  ].map((event, at) => ({ ...event, sequence_number: at }));
}

const write = (all: readonly Event[]) => all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const without = (name: string) => () => {
  const all = events();
  for (const event of all) delete event[name];
  return write(all);
};

const ODD: Record<string, () => string> = {
  "no output_index": without("output_index"),
  "no content_index": without("content_index"),
  "no item_id": without("item_id"),
  "null for the content of a message that begins": () => {
    const all = events();
    for (const { type, item } of all) if (item?.["type"] === "message" && type.endsWith(".added")) item["content"] = null;
    return write(all);
  },
  "types only in the names of events": () => write(events()).replaceAll(/data: \{"type":"response[\w.]+",/g, "data: {"),
};

test.for(Object.entries(ODD))("a Responses stream with %s is whole for the official SDK", async ([, make]) => {
  const sent = make();
  const whole = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
  expect(whole.outcome).toBe("complete");
  expect(await replayResponses(whole.text)).toMatchObject({
    output_text: "Good day.",
    output: [{ type: "message" }, { type: "function_call", call_id: "call_1", arguments: '{"city":"Oslo"}' }],
  });
  const bytes = [...Buffer.from(sent)].map((byte) => Buffer.from([byte]));
  expect(play(REQUEST, bytes, { protocol: "responses" }).text).toBe(whole.text);
});

test("a Responses stream in proper form passes without a copy", () => {
  const pieces = write(events())
    .split(/(?<=\n\n)/)
    .map((event) => Buffer.from(event));
  expect(play(REQUEST, pieces, { protocol: "responses" })).toMatchObject({ text: write(events()), unchanged: pieces.length });
});
