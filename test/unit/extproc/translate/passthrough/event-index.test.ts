import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { emptyMessage } from "../empty-message.ts";
import { inputFor } from "../input.ts";
import { replayChat, replayMessages, replayResponses } from "../replay.ts";
import { CHAT, play, WITH_USAGE } from "./play.ts";
import { events as responseEvents, REQUEST } from "./response-events.ts";

/** Servers that leave out the numbers of blocks, items and parts, write them as texts, or give all the same. */
type Json = Record<string, unknown>;

const NUMBERS: Record<string, (given: number) => unknown> = {
  "left out": () => undefined,
  null: () => null,
  "written as texts": String,
  "all the same": () => 0,
};

const write = (all: readonly Json[]) => all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

function messageEvents(numberOf: (given: number) => unknown): string {
  const block = (given: number, content: Json, ...deltas: Json[]) => {
    const index = numberOf(given);
    return [
      { type: "content_block_start", index, content_block: content },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  };
  const call = (given: number, id: string, city: string) =>
    block(
      given,
      { type: "tool_use", id, name: "weather", input: {} },
      { type: "input_json_delta", partial_json: '{"city":' },
      { type: "input_json_delta", partial_json: `"${city}"}` },
    );
  return write([
    { type: "message_start", message: emptyMessage(5) },
    ...block(0, { type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "Hmm." }),
    ...block(1, { type: "text", text: "" }, { type: "text_delta", text: "Good " }, { type: "text_delta", text: "day." }),
    ...call(2, "toolu_1", "Oslo"),
    ...call(3, "toolu_2", "Rome"),
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ]);
}

function translated(protocol: "chat" | "responses", body: string, upstream: "messages" | "responses"): string {
  const request = protocol === "chat" ? WITH_USAGE : REQUEST;
  const stream = createTranslation(protocol, inputFor(request, { upstream })).stream(createMeter(10));
  return [stream.push(Buffer.from(body)), stream.end()].map(String).join("");
}

const CALLS = [
  { function: { name: "weather", arguments: '{"city":"Oslo"}' } },
  { function: { name: "weather", arguments: '{"city":"Rome"}' } },
];

describe.for(Object.entries(NUMBERS))("blocks of a message whose numbers are %s", ([, numberOf]) => {
  const sent = messageEvents(numberOf);

  test("reach clients of other protocols", async () => {
    const { choices } = await replayChat(translated("chat", sent, "messages"));
    expect(choices[0]?.message).toMatchObject({ content: "Good day.", reasoning_content: "Hmm.", tool_calls: CALLS });
    const { output } = await replayResponses(translated("responses", sent, "messages"));
    expect(output).toMatchObject([
      { type: "reasoning" },
      { type: "message", content: [{ text: "Good day." }] },
      { type: "function_call", arguments: '{"city":"Oslo"}' },
      { type: "function_call", arguments: '{"city":"Rome"}' },
    ]);
  });

  test("reach clients of the same protocol, streamed and not", async () => {
    const content = [
      { type: "thinking", thinking: "Hmm." },
      { type: "text", text: "Good day." },
      { type: "tool_use", id: "toolu_1", input: { city: "Oslo" } },
      { type: "tool_use", id: "toolu_2", input: { city: "Rome" } },
    ];
    const request = { ...CHAT, max_tokens: 10 };
    const { text } = play(request, [Buffer.from(sent)], { protocol: "messages" });
    expect((await replayMessages(text)).content).toMatchObject(content);
    const whole = createTranslation("messages", inputFor({ ...request, stream: false }, { upstream: "messages" }));
    expect(JSON.parse(whole.response(Buffer.from(sent), createMeter(10)).toString())).toMatchObject({ content });
  });
});

describe("items and parts of a response whose numbers are written as texts", () => {
  const NAMES = ["output_index", "content_index"];
  const sent = write(
    responseEvents().map((event) =>
      Object.fromEntries(Object.entries(event).map(([name, value]) => [name, NAMES.includes(name) ? String(value) : value])),
    ),
  );
  const oslo = { name: "weather", arguments: '{"city":"Oslo"}' };

  test("reach clients of other protocols", async () => {
    const { choices } = await replayChat(translated("chat", sent, "responses"));
    expect(choices[0]?.message).toMatchObject({ content: "Good day.", tool_calls: [{ function: oslo }] });
  });

  test("have numbers for clients of the same protocol", async () => {
    const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "responses" });
    expect((await replayResponses(text)).output).toMatchObject([{ content: [{ text: "Good day." }] }, oslo]);
    expect(text).not.toMatch(/_index":"/);
  });

  test("are counted once", () => {
    const of = (position: string, text: string) => [
      { type: "response.output_text.delta", item_id: `msg_${position}`, output_index: position, content_index: "0", delta: text },
      { type: "response.output_text.done", item_id: `msg_${position}`, output_index: position, content_index: "0", text },
    ];
    const texts = ["Good day. ".repeat(100), "Bye. ".repeat(200)];
    const response = { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m", output: [] };
    const both = write([...texts.flatMap((text, at) => of(String(at), text)), { type: "response.completed", response }]);
    const { metered } = play(REQUEST, [Buffer.from(both)], { protocol: "responses" });
    const tokens = texts.join("").length / 4;
    expect(metered.usage.outputTokens).toBeGreaterThanOrEqual(tokens);
    expect(metered.usage.outputTokens).toBeLessThan(1.2 * tokens);
  });
});
