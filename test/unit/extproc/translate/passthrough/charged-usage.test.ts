import { describe, expect, test } from "vitest";
import * as z from "zod";
import { promptTokensOf, type Usage } from "../../../../../contract/usage.ts";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor, type InputOptions } from "../input.ts";
import { emptyMessage } from "../empty-message.ts";
import { replayChat, replayMessages, replayResponses } from "../replay.ts";
import { CHAT, chunk, DONE, FINISH, play, WITH_USAGE } from "./play.ts";
import { events, REQUEST, write } from "./response-events.ts";

/** What a client reads is what it pays for, whatever the server reports. `promptTokens` of our own count are 10. */
const TEXT = "Hello you all.";
const OWN = { prompt: 10, output: 4 };

interface Seen {
  prompt: unknown;
  cached: unknown;
  output: unknown;
}

function charged({ cachedInputTokens: cached, outputTokens: output, ...usage }: Usage): Seen {
  return { prompt: promptTokensOf({ ...usage, cachedInputTokens: cached }), cached, output };
}

describe("chat", () => {
  const counts = { prompt_tokens: 90, completion_tokens: 5, total_tokens: 95 };
  const cached = (tokens: unknown) => ({ ...counts, prompt_tokens_details: { cached_tokens: tokens } });
  const cases: [string, unknown, Seen][] = [
    ["cached tokens that are no count", cached(""), { prompt: 90, cached: 0, output: 5 }],
    ["fewer cached tokens than none", cached(-1), { prompt: 90, cached: 0, output: 5 }],
    ["a fraction of cached tokens", cached(1.5), { prompt: 90, cached: 0, output: 5 }],
    ["cached tokens as text", cached("10"), { prompt: 90, cached: 0, output: 5 }],
    ["more cached tokens than tokens", cached(900), { prompt: OWN.prompt, cached: 0, output: 5 }],
    ["details that are no object", { ...counts, prompt_tokens_details: "" }, { prompt: 90, cached: 0, output: 5 }],
    ["cached tokens as DeepSeek names them", { ...counts, prompt_cache_hit_tokens: 64 }, { prompt: 90, cached: 64, output: 5 }],
    ["cached tokens as Moonshot names them", { ...counts, cached_tokens: 30 }, { prompt: 90, cached: 30, output: 5 }],
    [
      "reasoning that is no count",
      { ...counts, completion_tokens_details: { reasoning_tokens: "" } },
      { prompt: 90, cached: 0, output: 5 },
    ],
    ["too little output", { ...counts, completion_tokens: 0 }, { prompt: 90, cached: 0, output: OWN.output }],
    ["too much of all", { prompt_tokens: 1e15, completion_tokens: 1e15 }, { prompt: OWN.prompt, cached: 0, output: OWN.output }],
    ["a list", [counts], { prompt: OWN.prompt, cached: 0, output: OWN.output }],
    ["the names of Messages", { input_tokens: 90, output_tokens: 5 }, { prompt: OWN.prompt, cached: 0, output: OWN.output }],
  ];

  test.for(cases)("streams: %s", async ([, usage, expected]) => {
    const text = chunk({ content: TEXT }) + FINISH + chunk({}, { choices: [], usage }) + DONE;
    const run = play(WITH_USAGE, [Buffer.from(text)], { protocol: "chat" });
    expect(charged(run.metered.usage)).toEqual(expected);
    expect(chatUsageOf(await replayChat(run.text))).toEqual(expected);
  });

  test.for(cases)("complete answers: %s", ([, usage, expected]) => {
    const choices = [{ index: 0, message: { role: "assistant", content: TEXT }, finish_reason: "stop" }];
    const run = playWhole("chat", CHAT, { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage });
    expect(charged(run.usage)).toEqual(expected);
    expect(chatUsageOf(run.answer)).toEqual(expected);
  });

  test("usage without a fault passes unchanged, with what the server adds to it", () => {
    const usage = { ...cached(10), total_tokens: 120, queue_time: 0.5, completion_tokens_details: null };
    const text = chunk({ content: TEXT }) + FINISH + chunk({}, { choices: [], usage }) + DONE;
    expect(play(WITH_USAGE, [Buffer.from(text)], { protocol: "chat" }).text).toBe(text);
  });

  test("reasoning that the server counts beside the output is part of it", () => {
    const usage = { ...counts, total_tokens: 165, completion_tokens_details: { reasoning_tokens: 70 } };
    const text = chunk({ content: TEXT }) + FINISH + chunk({}, { choices: [], usage }) + DONE;
    const run = play(WITH_USAGE, [Buffer.from(text)], { protocol: "chat" });
    expect(run.text).toContain('"completion_tokens":75,"total_tokens":165');
    expect(run.metered.usage).toMatchObject({ outputTokens: 75, reasoningTokens: 70 });
  });
});

describe("messages", () => {
  const begin = { input_tokens: 90, output_tokens: 1 };
  const cases: [string, object, unknown, Seen, Partial<InputOptions>?][] = [
    [
      "cached tokens that are no count",
      { ...begin, cache_read_input_tokens: "" },
      { output_tokens: 5 },
      { prompt: OWN.prompt, cached: 0, output: 5 },
    ],
    ["a prompt as text", { ...begin, input_tokens: "90" }, { output_tokens: 5 }, { prompt: OWN.prompt, cached: 0, output: 5 }],
    ["too little output", begin, { output_tokens: 0 }, { prompt: 90, cached: 0, output: OWN.output }],
    ["too much output", begin, { output_tokens: 1e15 }, { prompt: 90, cached: 0, output: OWN.output }],
    [
      "cached tokens inside the input, of a server that counts them there",
      { ...begin, cache_read_input_tokens: 64 },
      { output_tokens: 5 },
      { prompt: 90, cached: 64, output: 5 },
      { flags: { usageInclusive: true } },
    ],
    [
      "cached tokens that are no count, of such a server",
      { ...begin, cache_read_input_tokens: "" },
      { output_tokens: 5 },
      { prompt: 90, cached: 0, output: 5 },
      { flags: { usageInclusive: true } },
    ],
  ];
  const content = [{ type: "text", text: TEXT }];

  function playStream(start: object, end: unknown, options?: Partial<InputOptions>) {
    const text = [
      { type: "message_start", message: { ...emptyMessage(1), usage: start } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: TEXT } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: end },
      { type: "message_stop" },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    return play(MESSAGES, [Buffer.from(text.join(""))], { protocol: "messages", ...options });
  }

  test.for(cases)("streams: %s", async ([, start, end, expected, options]) => {
    const run = playStream(start, end, options);
    expect(charged(run.metered.usage)).toEqual(expected);
    expect(messagesUsageOf(await replayMessages(run.text))).toEqual(expected);
  });

  test.for(cases)("complete answers: %s", ([, start, end, expected, options]) => {
    const message = { ...emptyMessage(1), content, stop_reason: "end_turn", usage: { ...start, ...objectOf(end) } };
    const run = playWhole("messages", MESSAGES, message, options);
    expect(charged(run.usage)).toEqual(expected);
    expect(messagesUsageOf(run.answer)).toEqual(expected);
  });

  test.for([500, -1, ""])("reasoning of %j tokens, none of which is charged, is not shown either", async (reported) => {
    const usage = { ...begin, output_tokens: 5, output_tokens_details: { thinking_tokens: reported } };
    const whole = playWhole("messages", MESSAGES, { ...emptyMessage(1), content, stop_reason: "end_turn", usage });
    const run = playStream(begin, usage);
    expect([whole.usage.reasoningTokens, run.metered.usage.reasoningTokens]).toEqual([0, 0]);
    for (const answer of [whole.answer, await replayMessages(run.text)])
      expect(answer).toMatchObject({ usage: { output_tokens: 5, output_tokens_details: { thinking_tokens: 0 } } });
  });

  test("steps that the server took on its own are left to clients to add up", () => {
    const step = { input_tokens: 40, output_tokens: 3 };
    const message = { ...emptyMessage(1), content, stop_reason: "end_turn", usage: { ...step, iterations: [step, step] } };
    const run = playWhole("messages", MESSAGES, message);
    expect(run.usage).toMatchObject({ inputTokens: 80, outputTokens: 6 });
    expect(run.answer).toMatchObject({ usage: message.usage });
  });
});

describe("Responses", () => {
  const counts = { input_tokens: 90, output_tokens: 9, total_tokens: 99 };
  const cached = (tokens: unknown) => ({ ...counts, input_tokens_details: { cached_tokens: tokens } });
  const own = { prompt: OWN.prompt, cached: 0, output: 6 };
  const cases: [string, unknown, Seen][] = [
    ["cached tokens that are no count", cached(""), { prompt: 90, cached: 0, output: 9 }],
    ["more cached tokens than tokens", cached(900), { ...own, output: 9 }],
    ["details that are no object", { ...counts, input_tokens_details: "" }, { prompt: 90, cached: 0, output: 9 }],
    ["too much of all", { input_tokens: 1e15, output_tokens: 1e15 }, own],
    ["the names of chat", { prompt_tokens: 90, completion_tokens: 9 }, own],
    ["a text", "none", own],
  ];
  const withUsage = (usage: unknown) =>
    events().map((event) =>
      event.type === "response.completed" ? { ...event, response: { ...objectOf(event["response"]), usage } } : event,
    );

  test.for(cases)("streams: %s", async ([, usage, expected]) => {
    const run = play(REQUEST, [Buffer.from(write(withUsage(usage)))], { protocol: "responses" });
    expect(charged(run.metered.usage)).toEqual(expected);
    expect(responsesUsageOf(await replayResponses(run.text))).toEqual(expected);
  });

  test.for(cases)("complete answers: %s", ([, usage, expected]) => {
    const run = playWhole("responses", { ...REQUEST, stream: false }, objectOf(withUsage(usage).at(-1)?.["response"]));
    expect(charged(run.usage)).toEqual(expected);
    expect(responsesUsageOf(run.answer)).toEqual(expected);
  });
});

const MESSAGES = { model: "m", max_tokens: 100, stream: true, messages: [{ role: "user", content: "hi" }] };

const objectOf = (value: unknown): Record<string, unknown> => z.looseObject({}).parse(value);

function playWhole(protocol: Protocol, request: object, answer: unknown, options: Partial<InputOptions> = {}) {
  const input = inputFor({ ...request, stream: false }, { upstreamModel: "m", ...options, upstream: protocol });
  const meter = createMeter(10);
  const bytes = createTranslation(protocol, input).response(Buffer.from(JSON.stringify(answer)), meter);
  const read: unknown = JSON.parse(bytes.toString());
  return { answer: read, usage: meter.final().usage };
}

function chatUsageOf(answer: unknown): Seen {
  const usage = objectOf(objectOf(answer)["usage"]);
  const cached = objectOf(usage["prompt_tokens_details"] ?? {})["cached_tokens"] ?? 0;
  return { prompt: usage["prompt_tokens"], cached, output: usage["completion_tokens"] };
}

function messagesUsageOf(answer: unknown): Seen {
  const usage = objectOf(objectOf(answer)["usage"]);
  const cached = usage["cache_read_input_tokens"] ?? 0;
  return { prompt: Number(usage["input_tokens"]) + Number(cached), cached, output: usage["output_tokens"] };
}

function responsesUsageOf(answer: unknown): Seen {
  const usage = objectOf(objectOf(answer)["usage"]);
  const cached = objectOf(usage["input_tokens_details"])["cached_tokens"];
  return { prompt: usage["input_tokens"], cached, output: usage["output_tokens"] };
}
