import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { isObject } from "../../../../../extproc/protocol/json/object.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { CHAT, chunk, DONE, FINISH, LAST, play, WITH_USAGE, WITH_USAGE_PER_CHUNK } from "./play.ts";

test("if a stream of several answers, each with its own usage, is cut, we count it (S28)", () => {
  const of = (index: number, tokens: number) => ({
    choices: [{ index, delta: { content: "x".repeat(40) }, finish_reason: null }],
    usage: { prompt_tokens: 5, completion_tokens: tokens },
  });
  const started = [0, 1, 2, 3].map((index) => chunk({}, of(index, 10))).join("");
  const options = { protocol: "chat", flags: { continuousUsage: true } } as const;
  const cut = play({ ...CHAT, n: 4 }, [Buffer.from(started)], options);
  expect(cut.metered).toMatchObject({ usage: { inputTokens: 5, outputTokens: 40 }, isEstimated: true });
  const whole = chunk({}, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 44 } });
  const complete = play({ ...CHAT, n: 4 }, [Buffer.from(started + FINISH + whole + DONE)], options);
  expect(complete.metered).toMatchObject({ usage: { inputTokens: 5, outputTokens: 44 }, isEstimated: false });
});

describe("usage in the chunk that finishes the answer, as DeepSeek and Mistral send it", () => {
  const details = { prompt_tokens_details: { cached_tokens: 3 } };
  const counts = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, ...details, prompt_cache_hit_tokens: 3 };
  const finish = (more: object) => chunk({}, { ...LAST, ...more });
  const own = chunk({}, { choices: [], usage: counts });
  const metered = { usage: { inputTokens: 2, cachedInputTokens: 3, outputTokens: 2 }, isEstimated: false };
  const playChat = (request: object, text: string) => play(request, [Buffer.from(text)], { protocol: "chat" });

  test.for([
    { name: "before [DONE]", sent: finish({ usage: counts }) + DONE },
    { name: "before the end of a stream without [DONE]", sent: finish({ usage: counts }) },
    { name: "once, if the server sends it again", sent: finish({ usage: { prompt_tokens: 5 } }) + own + DONE },
  ])("follows the choices $name", ({ sent }) => {
    const run = playChat(WITH_USAGE, chunk({ content: "a" }) + sent);
    expect(run.text).toBe(chunk({ content: "a" }) + finish({ usage: null }) + own + DONE);
    expect(run).toMatchObject({ outcome: "complete", metered });
  });

  test("follows the choices of a server that rejects the request for it, which is left out", () => {
    const options = { protocol: "chat", flags: { rejects: ["stream_options"] } } satisfies Parameters<typeof play>[2];
    const run = play(WITH_USAGE, [Buffer.from(chunk({ content: "a" }) + finish({ usage: counts }) + DONE)], options);
    expect(run.text).toBe(chunk({ content: "a" }) + finish({ usage: null }) + own + DONE);
    expect(run).toMatchObject({ outcome: "complete", metered });
    const { flags } = options;
    for (const request of [CHAT, WITH_USAGE]) {
      const { upstream } = createTranslation("chat", inputFor(request, { upstream: "chat", flags }));
      expect(JSON.parse(upstream.body.toString("utf8"))).toMatchObject({ stream: true });
      expect(JSON.parse(upstream.body.toString("utf8"))).not.toHaveProperty("stream_options");
    }
  });

  test("follows all chunks that report it on the way", () => {
    const along = chunk({ content: "a" }, { usage: { prompt_tokens: 5, completion_tokens: 1 } });
    const run = playChat(WITH_USAGE, along + finish({ usage: counts }) + DONE);
    expect(run.text).toBe(chunk({ content: "a" }, { usage: null }) + finish({ usage: null }) + own + DONE);
    expect(run.metered).toMatchObject(metered);
  });

  test("is left out and counted if the client did not request it", () => {
    const run = playChat(CHAT, chunk({ content: "a" }) + finish({ usage: counts }) + DONE);
    expect(run.text).toBe(chunk({ content: "a" }) + FINISH + DONE);
    expect(run.metered).toMatchObject(metered);
  });
});

describe("usage that is requested, and that the server does not report, is the gateway's own count", () => {
  const counted = { usage: { inputTokens: 10, outputTokens: 1 }, isEstimated: true };
  const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
  const playChat = (request: object, text: string) => play(request, [Buffer.from(text)], { protocol: "chat" });
  const answer = chunk({ content: "a" }) + FINISH;

  test.for([
    { name: "before [DONE]", sent: answer + DONE },
    { name: "before the end of a stream without [DONE]", sent: answer },
  ])("$name", ({ sent }) => {
    const run = playChat(WITH_USAGE, sent);
    const [, added = ""] = run.text.split(answer);
    expect(added.endsWith(`\n\n${DONE}`)).toBe(true);
    expect(JSON.parse(added.slice("data: ".length, added.indexOf("\n")))).toMatchObject({ choices: [], usage });
    expect(run).toMatchObject({ outcome: "complete", metered: counted });
  });

  test.for([
    { name: "none", reported: undefined, given: usage },
    { name: "null", reported: null, given: usage },
    { name: "an empty one", reported: {}, given: usage },
    { name: "fractions", reported: { prompt_tokens: 7.5, completion_tokens: 2.5, total_tokens: 10 }, given: usage },
    { name: "less than nothing", reported: { prompt_tokens: -1, completion_tokens: -1, total_tokens: -2 }, given: usage },
    { name: "that of the prompt", reported: { prompt_tokens: 7 }, given: { ...usage, prompt_tokens: 7, total_tokens: 8 } },
    {
      name: "no total",
      reported: { prompt_tokens: 7, completion_tokens: 2 },
      given: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    },
  ])("in complete answers, too, and in the last chunk, of a server that reports $name", ({ reported, given }) => {
    const choices = [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }];
    const whole = { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage: reported };
    const { answer: passed, metered } = complete({ ...CHAT, stream: false }, whole);
    expect(passed).toMatchObject({ choices, usage: given });
    expect(metered.usage.outputTokens).toBe(given.completion_tokens);
    const { text } = playChat(WITH_USAGE, answer + chunk({}, { choices: [], usage: reported }) + DONE);
    expect(usagesIn(text)).toMatchObject([given]);
  });

  test("and is in no stream that did not ask for it, or asked for more than OpenAI's", () => {
    for (const request of [CHAT, WITH_USAGE_PER_CHUNK]) expect(playChat(request, answer + DONE).text).toBe(answer + DONE);
  });
});

describe("of usage that the server reports more than once without a choice, the client gets", () => {
  const of = (completion: number) => ({ prompt_tokens: 5, completion_tokens: completion, total_tokens: 5 + completion });
  const report = (usage: object) => chunk({}, { choices: [], usage });
  const answer = chunk({ content: "a".repeat(40) });
  const finish = (usage: object) => chunk({}, { ...LAST, usage });

  test.for([
    { name: "the first after the end", reports: [answer, FINISH, report(of(9)), report(of(9))], tokens: 9 },
    { name: "the first after the end, by which we charge", reports: [answer, FINISH, report(of(9)), report(of(12))], tokens: 9 },
    { name: "the last, if none follows the end", reports: [report(of(1)), answer, report(of(9)), FINISH], tokens: 9 },
    { name: "none that comes before the end", reports: [report(of(1)), answer, FINISH, report(of(9))], tokens: 9 },
    { name: "none that is all zeros", reports: [answer, FINISH, report(of(0)), report(of(9))], tokens: 9 },
    { name: "that of the choices, if zeros follow it", reports: [answer, finish(of(9)), report(of(0))], tokens: 9 },
    { name: "none that lacks counts", reports: [answer, FINISH, report({ prompt_tokens: 5 }), report(of(9))], tokens: 9 },
    { name: "none that follows [DONE]", reports: [answer, FINISH, report(of(9)), DONE, report(of(12))], tokens: 9 },
  ])("$name", ({ reports, tokens }) => {
    const { text, metered } = play(WITH_USAGE, [Buffer.from(reports.join("") + DONE)], { protocol: "chat" });
    expect(usagesIn(text)).toEqual([of(tokens)]);
    expect(metered).toMatchObject({ usage: { inputTokens: 5, outputTokens: tokens }, isEstimated: false });
  });
});

test("usage that waits for the end of its stream counts as held", () => {
  const translation = createTranslation("chat", inputFor(WITH_USAGE, { upstream: "chat", upstreamModel: "m" }));
  const stream = translation.stream(createMeter(10));
  const usage = { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14, x: "x".repeat(100_000) };
  stream.push(Buffer.from(chunk({ content: "a" }) + chunk({}, { ...LAST, usage })));
  expect(stream.heldBytes()).toBeGreaterThanOrEqual(100_000);
  stream.push(Buffer.from(DONE));
  expect(stream.heldBytes()).toBe(0);
});

function complete(request: object, answer: object) {
  const meter = createMeter(10);
  const translation = createTranslation("chat", inputFor(request, { upstream: "chat", upstreamModel: "m" }));
  const passed: unknown = JSON.parse(translation.response(Buffer.from(JSON.stringify(answer)), meter).toString());
  return { answer: passed, metered: meter.final() };
}

/** Of the chunks that have one. */
function usagesIn(text: string): unknown[] {
  const data = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]): unknown => JSON.parse(json ?? ""));
  return data.flatMap((json) => (isObject(json) && isObject(json["usage"]) ? [json["usage"]] : []));
}
