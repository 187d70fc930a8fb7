import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { countCharacters } from "../../../../extproc/meter/characters.ts";
import { createMeter, type Meter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { isObject } from "../../../../extproc/protocol/json/object.ts";
import { objectsIn } from "../../../../extproc/translate/readable-output.ts";
import { chargeNanoUsd } from "../../../../ledger/money.ts";
import { PRICE } from "../../../support/billing/ledger.ts";
import { inputFor } from "../translate/input.ts";

const PROMPT = 1_000;
const MOST = 232_768;

const PAIRS: readonly (readonly [Protocol, Protocol])[] = [
  ["chat", "chat"],
  ["chat", "messages"],
  ["messages", "chat"],
  ["messages", "messages"],
  ["responses", "chat"],
  ["responses", "messages"],
];

const REQUESTS: Record<Protocol, object> = {
  chat: { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
  messages: { model: "m", stream: true, max_tokens: 1_000, messages: [{ role: "user", content: "hi" }] },
  responses: { model: "m", stream: true, input: "hi" },
};

const number = fc.oneof(fc.nat(500), fc.constantFrom(0, -1, 0.5, 1e15, 9e15, 2 ** 53, 1e300, null, "NaN", "12", {}, [], true));
const words = fc.oneof(fc.lorem({ maxCount: 20 }), fc.string({ unit: "grapheme", maxLength: 60 }), fc.constant(" ".repeat(500)));

const chatUsage = fc.record(
  {
    prompt_tokens: number,
    completion_tokens: number,
    total_tokens: number,
    prompt_tokens_details: fc.record({ cached_tokens: number, cache_write_tokens: number }, { requiredKeys: [] }),
    completion_tokens_details: fc.record({ reasoning_tokens: number }),
  },
  { requiredKeys: [] },
);
const chatDelta = fc.oneof(
  words.map((content) => ({ content })),
  words.map((text) => ({ content: [{ type: "text", text }] })),
  words.map((text) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] })),
  words.map((text) => ({ reasoning_content: text, reasoning: text })),
  words.map((text) => ({ reasoning_details: [{ type: "reasoning.text", text }] })),
  words.map((refusal) => ({ refusal })),
);
const chatEvent = fc
  .record({
    delta: chatDelta,
    usage: fc.option(chatUsage, { nil: undefined }),
    finish: fc.constantFrom(null, null, null, "stop"),
  })
  .map(({ delta, usage, finish }) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: finish }], usage }));
const chatStream = fc
  .tuple(fc.array(chatEvent, { maxLength: 12 }), fc.option(chatUsage, { nil: undefined }))
  .map(([events, usage]) =>
    [...events, { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }, { id: "c", choices: [], usage }]
      .map((each) => `data: ${JSON.stringify(each)}\n\n`)
      .concat("data: [DONE]\n\n"),
  );

const messagesUsage = fc.record(
  {
    input_tokens: number,
    output_tokens: number,
    cache_read_input_tokens: number,
    cache_creation_input_tokens: number,
    iterations: fc.array(fc.record({ input_tokens: number, output_tokens: number }), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const anyUsage = fc.oneof(messagesUsage, fc.constant(undefined), fc.constant(null), fc.constant(5));
const messagesStream = fc
  .tuple(anyUsage, fc.array(fc.oneof(words, messagesUsage), { maxLength: 12 }), anyUsage)
  .map(([first, between, last]) =>
    [
      { type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: first } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...between.map((each) =>
        typeof each === "string"
          ? { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: each } }
          : { type: "message_delta", delta: {}, usage: each },
      ),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: last },
      { type: "message_stop" },
    ].map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`),
  );

/** What a client of each interface can read of its stream. */
function textOf(client: Protocol, stream: string): string {
  const events = stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): unknown => JSON.parse(line.slice("data: ".length)))
    .filter(isObject);
  switch (client) {
    case "chat":
      return events.flatMap((each) => objectsIn(each["choices"]).map(({ delta }) => deltaText(delta))).join("");
    case "messages":
      return events.map(({ delta }) => (isObject(delta) ? textIn([delta["text"], delta["thinking"]]) : "")).join("");
    case "responses":
      return events.map(({ type, delta }) => (String(type).endsWith(".delta") ? textIn([delta]) : "")).join("");
  }
}

function deltaText(delta: unknown): string {
  if (!isObject(delta)) return "";
  const parts = objectsIn(delta["content"]).map(({ text, thinking }) => text ?? objectsIn(thinking)[0]?.["text"]);
  const details = objectsIn(delta["reasoning_details"]).map(({ text }) => text);
  const texts = [delta["content"], ...parts, delta["reasoning_content"] ?? details[0], delta["refusal"]];
  return textIn(texts);
}

function textIn(values: readonly unknown[]): string {
  return values.filter((each) => typeof each === "string").join("");
}

/** @param parts how many of the events come before the client leaves. */
function play(
  [client, upstream]: readonly [Protocol, Protocol],
  events: readonly string[],
  parts: number,
): { meter: Meter; text: string } {
  const input = inputFor(REQUESTS[client], { upstream, upstreamModel: "m" });
  const meter = createMeter(PROMPT, { tokens: MOST });
  const stream = createTranslation(client, input).stream(meter);
  let output = "";
  for (const event of events.slice(0, parts)) {
    const chunk = Buffer.from(event);
    const pushed = stream.push(chunk);
    output += (pushed === "unchanged" ? chunk : pushed).toString();
  }
  if (parts >= events.length) output += stream.end().toString();
  return { meter, text: textOf(client, output) };
}

describe.for(PAIRS)("a hostile stream, client of %s, server of %s", (pair) => {
  test("whatever is reported, anywhere: delivered tokens are charged, within the bounds (S28, S38)", () => {
    fc.assert(
      fc.property(
        pair[1] === "chat" ? chatStream : messagesStream,
        fc.double({ min: 0, max: 2, noNaN: true }),
        (events, share) => {
          const { meter, text } = play(pair, events, Math.ceil(share * events.length));
          const { usage } = meter.final();
          expect(chargeNanoUsd(usage, PRICE)).toBeGreaterThanOrEqual(0n);
          const prompt = usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens;
          expect(prompt).toBeGreaterThan(0);
          expect(prompt).toBeLessThanOrEqual(MOST);
          expect(usage.outputTokens).toBeLessThanOrEqual(MOST);
          expect(usage.outputTokens).toBeGreaterThanOrEqual(Math.ceil(countCharacters(text) / 32));
        },
      ),
      { numRuns: 150 },
    );
  });
});
