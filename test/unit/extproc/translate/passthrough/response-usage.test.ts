import { describe, expect, test } from "vitest";
import * as z from "zod";
import { play } from "./play.ts";
import { BARE_USAGE, complete, events, REQUEST, WHOLE_USAGE, write, type Json } from "./response-events.ts";

describe("usage without its details, as of servers without a cache", () => {
  test("gets them at the end of a stream, and is counted as before", () => {
    const { usage, metered } = playWith(BARE_USAGE);
    expect(usage).toEqual(WHOLE_USAGE);
    expect(metered).toMatchObject({ usage: { inputTokens: 7, outputTokens: 4 }, isEstimated: false });
  });

  test.for([
    ["none", BARE_USAGE],
    [
      "fractions",
      { ...WHOLE_USAGE, input_tokens_details: { cached_tokens: 0.5 }, output_tokens_details: { reasoning_tokens: -1 } },
    ],
    ["null", { ...WHOLE_USAGE, input_tokens_details: null, output_tokens_details: null }],
    ["empty ones", { ...WHOLE_USAGE, input_tokens_details: {}, output_tokens_details: {} }],
    // The protocol had no other one until 2026.
    ["cached tokens alone", { ...WHOLE_USAGE, input_tokens_details: { cached_tokens: 0 } }],
  ] as const)("gets them in a complete response with %s", ([, usage]) => {
    const answer = JSON.stringify({ ...Object(events().at(-1)?.["response"]), usage });
    expect(JSON.parse(complete(answer))).toMatchObject({ usage: WHOLE_USAGE });
  });

  test("keeps those that it has", () => {
    const details = { cached_tokens: 3, cache_write_tokens: 2, x: 1 };
    const answer = JSON.stringify({
      ...Object(events().at(-1)?.["response"]),
      usage: { ...WHOLE_USAGE, input_tokens_details: details, total_tokens: 12 },
    });
    expect(complete(answer)).toBe(answer);
  });
});

describe("usage that the server does not report is the gateway's own count, by which it charges", () => {
  const counted = { ...WHOLE_USAGE, input_tokens: 10, output_tokens: 6, total_tokens: 16 };

  test.for([
    ["none", undefined, counted],
    ["null", null, counted],
    ["an empty one", {}, counted],
    ["fractions", { input_tokens: 7.5, output_tokens: 2.5, total_tokens: 10 }, counted],
    ["less than nothing", { input_tokens: -1, output_tokens: -1, total_tokens: -2 }, counted],
    ["that of the prompt", { input_tokens: 7 }, { ...counted, input_tokens: 7, total_tokens: 13 }],
  ] as const)("at the end of a stream, and in a complete response, with %s", ([, reported, usage]) => {
    const run = playWith(reported);
    expect(run.usage).toEqual(usage);
    expect(run.metered).toMatchObject({ usage: { inputTokens: usage.input_tokens, outputTokens: 6 }, isEstimated: true });
    const answer = JSON.stringify({ ...Object(events().at(-1)?.["response"]), usage: reported });
    expect(JSON.parse(complete(answer, 10))).toMatchObject({ usage });
  });

  test("and stays null until the end", () => {
    const { text } = playWith(null);
    expect(text.split("\n\n")[0]).toContain('"usage":null');
  });
});

/** A stream whose last event has this usage. */
function playWith(usage: Json | null | undefined) {
  const all = events().map((event) =>
    event.type === "response.completed" ? { ...event, response: { ...Object(event["response"]), usage } } : event,
  );
  const { text, metered } = play(REQUEST, [Buffer.from(write(all))], { protocol: "responses" });
  const last = /^data: (\{"type":"response\.completed".*)$/m.exec(text)?.[1] ?? "";
  return { text, metered, usage: endSchema.parse(JSON.parse(last)).response.usage };
}

const endSchema = z.object({ response: z.object({ usage: z.unknown() }) });
