import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayResponses } from "../replay.ts";
import { play } from "./play.ts";
import { events, REQUEST, write, type Event } from "./response-events.ts";

/** Responses whose text and arguments are in the pieces alone, as a stream and where JSON was requested. */
const WHOLE = [
  { type: "message", content: [{ type: "output_text", text: "Good day." }] },
  { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' },
];

const endsOf = (type: string) => /output_item\.done$|_part\.done$/.test(type);
const ending = (output: unknown) => (event: Event) =>
  event.type === "response.completed" ? { ...event, response: { ...event.response, ...Object({ output }) } } : event;
const [message, call] = events().at(-1)?.response?.output ?? [];

const STREAMS: Record<string, Event[]> = {
  "whose items never end": events()
    .filter(({ type }) => !endsOf(type))
    .map(ending([])),
  "whose items have only pieces": events()
    .filter(({ type }) => !type.endsWith(".done"))
    .map(ending([])),
  "whose text and arguments come only with their ends": events()
    .filter(({ type }) => !endsOf(type) && !type.endsWith(".delta"))
    .map(ending([])),
  "whose last message has no content": events().map(ending([{ ...message, content: [] }, call])),
  "whose message is without content at its end": events()
    .map((event) => (event.item?.["type"] === "message" ? { ...event, item: { ...message, content: [] } } : event))
    .map(ending([{ ...message, content: [] }, call])),
  "whose last message has a part without text": events().map(
    ending([{ ...message, content: [{ type: "output_text", text: "", annotations: [] }] }, call]),
  ),
};

describe.for(Object.entries(STREAMS))("a response %s", ([, all]) => {
  test("has them as a stream", async () => {
    const { text, outcome } = play(REQUEST, [Buffer.from(write(all))], { protocol: "responses" });
    expect(outcome).toBe("complete");
    expect((await replayResponses(text)).output).toMatchObject(WHOLE);
  });

  test("has them where JSON was requested", () => {
    const input = inputFor({ ...REQUEST, stream: false }, { upstream: "responses", upstreamModel: "m" });
    const answer = createTranslation("responses", input).response(Buffer.from(write(all)), createMeter(10));
    expect(JSON.parse(answer.toString())).toMatchObject({ status: "completed", output: WHOLE });
  });
});
