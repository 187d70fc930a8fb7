import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { messageArbitrary as anyMessage, toTranscript } from "../chat-via-messages/messages.ts";
import { inputFor, type InputOptions } from "../input.ts";
import { CHAT, chunk, DONE, FINISH, play, WITH_USAGE, WITH_USAGE_PER_CHUNK } from "./play.ts";
import { replayChat, replayMessages } from "../replay.ts";
import { emptyMessage } from "../empty-message.ts";

const MESSAGES = { ...CHAT, max_tokens: 10 };
const USAGE = chunk({}, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } });

/** One that lacks nothing, and whose calls have ids of their own. */
const messageArbitrary = anyMessage.map((message) => {
  const ids = message.content.map((block) => (block.type === "tool_use" ? block.id : ""));
  const isTaken = (id: string, at: number) => id === "" || ids.indexOf(id) < at;
  return {
    ...message,
    content: message.content.map((block, at) =>
      block.type === "tool_use" && isTaken(block.id, at) ? { ...block, id: `toolu_3_${at}` } : block,
    ),
    stop_reason: reasonOf(message),
  };
});

/** One that does not hide calls. */
function reasonOf({ content, stop_reason: reason }: { content: readonly { type: string }[]; stop_reason: string | null }) {
  const given = reason ?? "end_turn";
  return given === "end_turn" && content.some(({ type }) => type === "tool_use") ? "tool_use" : given;
}

describe("bytes pass unchanged", () => {
  test("a messages stream, split anywhere, comes out as it went in", () => {
    fc.assert(
      fc.property(
        messageArbitrary,
        fc.array(fc.nat(2000), { maxLength: 5 }),
        fc.constantFrom("\n", "\r\n", "\r"),
        (message, cuts, lineEnd) => {
          const bytes = Buffer.from(toTranscript(message).replaceAll("\n", lineEnd));
          const offsets = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
          const chunks = offsets.slice(1).map((end, index) => bytes.subarray(offsets[index], end));
          const { text, outcome } = play(MESSAGES, chunks, { protocol: "messages" });
          expect(text).toBe(bytes.toString());
          expect(outcome).toBe("complete");
        },
      ),
      { numRuns: 300 },
    );
  });

  test("chunks of complete events pass without a copy, on both interfaces", () => {
    const piece = (content: string) => chunk({}, { choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    const chat = [chunk({}), piece("a") + piece("b"), FINISH, USAGE, DONE];
    expect(
      play(
        WITH_USAGE,
        chat.map((text) => Buffer.from(text)),
        { protocol: "chat" },
      ),
    ).toMatchObject({ text: chat.join(""), unchanged: chat.length });
    const messages = [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
      ": ping\n\n",
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1,"output_tokens":1}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ];
    expect(
      play(
        MESSAGES,
        messages.map((text) => Buffer.from(text)),
        { protocol: "messages" },
      ),
    ).toMatchObject({ text: messages.join(""), unchanged: 4 });
  });

  test("usage that the client did not request is hidden and counted", () => {
    const text = chunk({ content: "a" }, { usage: null }) + FINISH + USAGE + DONE;
    const run = play(CHAT, [Buffer.from(text)], { protocol: "chat" });
    expect(run.text).toBe(chunk({ content: "a" }) + FINISH + DONE);
    expect(run.metered).toMatchObject({ usage: { inputTokens: 5, outputTokens: 2 }, isEstimated: false });
  });

  test("nesting of 50,000 in a request passes", () => {
    const deep = "[".repeat(50_000) + "]".repeat(50_000);
    const request = `{"messages":[{"role":"user","content":"hi"}],"x":${deep},"max_tokens":9,"model":"m"}`;
    const { upstream } = createTranslation("chat", inputFor(request, { upstream: "chat", upstreamModel: "other" }));
    expect(upstream.body.toString()).toBe(request.replace('"model":"m"', '"model":"other"'));
  });

  test("a request in which nothing changes is passed on as the same buffer", () => {
    const input = inputFor({ ...MESSAGES, stream: false }, { upstream: "messages", upstreamModel: "m" });
    expect(createTranslation("messages", input).upstream.body).toBe(input.body.bytes);
  });

  test("a request of 30 MB gets its model in one pass", () => {
    const request = JSON.stringify({ messages: [{ role: "user", content: 'é"\n'.repeat(6_000_000) }], model: "m" });
    const input = inputFor(request, { upstream: "chat", upstreamModel: "other" });
    const { body } = createTranslation("chat", input).upstream;
    expect(body.subarray(-18).toString()).toBe('],"model":"other"}');
  });

  test("an event of 8 MB in small chunks is buffered and edited in linear time", () => {
    const text = chunk({ content: "x".repeat(8_000_000) }).replace('"model":"m"', '"model":"other"');
    const bytes = Buffer.from(text + FINISH + DONE);
    const chunks = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, index) =>
      bytes.subarray(index * 100, (index + 1) * 100),
    );
    const run = play(CHAT, chunks, { protocol: "chat", upstreamModel: "other" });
    expect(run.text).toBe(chunk({ content: "x".repeat(8_000_000) }) + FINISH + DONE);
  });
});

describe("how a stream ends", () => {
  test("half an event never reaches the client; the error event does", () => {
    const half = chunk({ content: "lost" }).slice(0, -10);
    const run = play(CHAT, [Buffer.from(chunk({ content: "a" }) + half)], { protocol: "chat" });
    expect(run.outcome).toBe("truncated");
    expect(run.text).toMatch(/^data: .*"a".*\n\ndata: \{"error":\{.*"code":"upstream_error"\}\}\nevent: error\n\n$/);
    expect(run.text).not.toContain("lost");
  });

  test("a finish_reason is enough for chat, and the missing [DONE] is added", () => {
    const run = play(CHAT, [Buffer.from(chunk({}) + FINISH)], { protocol: "chat" });
    expect(run).toMatchObject({ outcome: "complete", text: chunk({}) + FINISH + DONE });
  });

  test("an empty finish_reason does not count", () => {
    const text = chunk({}, { choices: [{ index: 0, delta: { content: "a" }, finish_reason: "" }] });
    expect(play(CHAT, [Buffer.from(text)], { protocol: "chat" }).outcome).toBe("truncated");
  });

  test("text in a chunk with an error, and behind it, is neither delivered nor counted (S28)", () => {
    const delivered = chunk({ content: "delivered" });
    const lost = chunk({ content: "twenty-four characters.." });
    const broken = chunk({ content: "twenty-four characters.." }, { error: { message: "x" } });
    const run = play(CHAT, [Buffer.from(delivered + broken + lost + DONE)], { protocol: "chat" });
    expect(run).toMatchObject({ outcome: "failed", metered: { usage: { outputTokens: 3 } } });
    expect(run.text.slice(delivered.length)).toMatch(/^data: \{"error":.*\}\nevent: error\n\n$/);
  });

  test("message_delta is not enough for messages", () => {
    const text =
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}\n\n';
    const run = play(MESSAGES, [Buffer.from(text)], { protocol: "messages" });
    expect(run.outcome).toBe("truncated");
    expect(run.text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"api_error".*\}\n\n$/);
  });

  test("output is counted if a cut stream had no usage", () => {
    const text =
      'data: {"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1}}}\n\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"four and twenty characters"}}\n\n';
    const { metered } = play(MESSAGES, [Buffer.from(text)], { protocol: "messages" });
    expect(metered).toEqual({
      usage: { inputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 7, reasoningTokens: 0 },
      isEstimated: true,
    });
  });
});

test("a start with zero input tokens is not a count: a stream cut after it is estimated", () => {
  const text = 'data: {"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}\n\n';
  const { metered } = play(MESSAGES, [Buffer.from(text)], { protocol: "messages" });
  // Our own count of the prompt.
  expect(metered).toMatchObject({ usage: { inputTokens: 10 }, isEstimated: true });
});

/** Of a chat server: whether the event has a choice, or reports an error. */
function isAnswerOrError(data: string): boolean {
  return data.includes('"error":{') || /"choices":\[\{/.test(data);
}

/** Of a chat server: its first choice has the role. */
function begun(events: readonly string[]): readonly string[] {
  const first = events.findIndex((data) => data.includes('"role":null'));
  return events.map((data, at) => (at === first ? finishFirst(data) : data));
}

/** A reason for the end that comes first keeps the gateway from adding one. */
function finishFirst(data: string): string {
  return data.replace('"role":null', '"role":"assistant"').replace('"finish_reason":null', '"finish_reason":"stop"');
}

const END = { delta: { stop_reason: "end_turn" }, usage: { input_tokens: 1, output_tokens: 1 } };

test("whatever an upstream streams, the client's stream ends exactly once, and only edits change it", () => {
  const type = fc.constantFrom("message_start", "message_delta", "message_stop", "content_block_delta", "error", null);
  const choices = fc.constantFrom<unknown[]>(
    [],
    [{ index: 0, delta: { role: null, content: "a" }, finish_reason: null }],
    [{ index: 0, delta: { role: null }, finish_reason: "stop" }],
    [null],
  );
  const usage = fc.constantFrom(
    undefined,
    null,
    5,
    { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    { input_tokens: "x" },
  );
  const event = fc.record({
    type,
    id: fc.constant("c"),
    object: fc.constant("chat.completion.chunk"),
    created: fc.constant(1),
    choices,
    usage,
    model: fc.constantFrom("m", "other", 5),
    error: fc.constantFrom(undefined, null, { message: "x" }),
  });
  const message = emptyMessage(1);
  const start = [
    { type: "message_start", message },
    { type: "message_delta", ...END },
  ].map((event) => JSON.stringify(event));
  /** What each event of messages must have. */
  const required: Record<string, object> = {
    message_start: { message },
    message_delta: END,
    content_block_delta: { index: 0, delta: { type: "other_delta" } },
  };
  const written = event.map((value) => JSON.stringify({ ...value, ...required[value.type ?? ""] }));
  const data = fc.oneof({ weight: 9, arbitrary: written }, fc.constant("[DONE]"));
  fc.assert(
    fc.property(fc.constantFrom("chat" as const, "messages" as const), fc.array(data, { maxLength: 8 }), (protocol, rest) => {
      // Usage in another protocol's names would become what is charged.
      const readable = rest.map((data) => data.replace(/"usage":\{"input_tokens"[^}]*\}/, '"usage":null'));
      const all = protocol === "messages" ? [...start, ...rest] : begun(readable);
      // Errors are written anew, and end the stream.
      const isError = (data: string) =>
        data.includes('"error":{') || (protocol === "messages" && data.includes('"type":"error"'));
      const error = all.findIndex(isError);
      const stop = protocol === "messages" ? all.findIndex((data) => data.includes('"type":"message_stop"')) : -1;
      const isOver = stop >= 0 && stop < error;
      const events = isOver ? all.filter((data) => !isError(data)) : all.slice(0, error < 0 ? all.length : error);
      const fails = error >= 0 && !isOver;
      // What comes behind an ending is the upstream's, and passes.
      // Messages clients need names, which this server leaves out.
      const nameIn = (data: string) => /^\{"type":"(\w+)"/.exec(protocol === "messages" ? data : "")?.[1];
      const lead = (data: string) => (nameIn(data) === undefined ? "" : `event: ${nameIn(data)}\n`);
      // A message begins once.
      const isRepeat = (data: string, at: number) => at > 0 && nameIn(data) === "message_start";
      // It is chat's.
      const isOther = (data: string) => protocol === "messages" && data === "[DONE]";
      const passed = events.filter((data, at) => !isRepeat(data, at) && !isOther(data));
      const text = passed.map((data) => `${lead(data)}data: ${data}\n\n`).join("");
      const sent = all.map((data) => `data: ${data}\n\n`).join("");
      const run = play(protocol === "chat" ? WITH_USAGE_PER_CHUNK : MESSAGES, [Buffer.from(sent)], { protocol });
      // An ending without an answer is replaced by an error.
      const ending = events.indexOf("[DONE]");
      const isEmpty = protocol === "chat" && ending >= 0 && !events.slice(0, ending).some(isAnswerOrError);
      const kept = isEmpty
        ? events
            .slice(0, ending)
            .map((each) => `data: ${each}\n\n`)
            .join("")
        : text;
      expect(run.text.startsWith(kept)).toBe(true);
      const added = run.text.slice(kept.length);
      const expected = isEmpty
        ? { truncated: /never/, complete: /never/, failed: /"error"/, open: /never/ }
        : { truncated: /"error"/, complete: /^(data: \[DONE\]\n\n)?$/, failed: fails ? /"error"/ : /never/, open: /never/ };
      expect(added).toMatch(expected[run.outcome]);
    }),
    { numRuns: 1000 },
  );
});

describe("a complete answer to a streaming request becomes a stream", () => {
  test("messages, as the anthropic SDK reads it", async () => {
    await fc.assert(
      fc.asyncProperty(messageArbitrary, async (message) => {
        const run = play(MESSAGES, [Buffer.from(JSON.stringify({ ...message, model: "m" }, null, 1))], { protocol: "messages" });
        expect(run.outcome).toBe("complete");
        const { content, stop_reason, usage } = await replayMessages(run.text);
        expect({ content, stop_reason, usage }).toMatchObject({
          content: message.content,
          stop_reason: message.stop_reason,
          usage: message.usage,
        });
      }),
      { numRuns: 100 },
    );
  });

  const completion = JSON.stringify({
    id: "c",
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  });

  test.for([
    ["a line break", "\n"],
    ["white space", "\r\n \t"],
    ["a byte order mark", "\u{FEFF}"],
    ["a byte order mark and a line break", "\u{FEFF}\n"],
    ["many blank lines", "\n".repeat(2_000)],
  ] as const)("after %s, split anywhere", ([, lead]) => {
    const bytes = Buffer.from(lead + completion);
    for (const chunks of [[bytes], Array.from(bytes, (byte) => Buffer.of(byte))]) {
      const run = play(WITH_USAGE, chunks, { protocol: "chat" });
      expect(run).toMatchObject({ outcome: "complete", metered: { usage: { outputTokens: 2 }, isEstimated: false } });
      expect(run.text).toMatch(/^data: \{.*"content":"hello"/);
    }
  });

  test("a stream after blank lines is still a stream, however many they are", () => {
    const stream = chunk({ content: "hello" }) + FINISH + USAGE + DONE;
    for (const lead of ["\n", "\u{FEFF}", "\r\n".repeat(10_000)]) {
      const bytes = Buffer.from(lead + stream);
      const cuts = [Buffer.from(lead).subarray(0, 1), bytes.subarray(1, 5_000), bytes.subarray(5_000)];
      const run = play(WITH_USAGE, cuts, { protocol: "chat" });
      expect(run.outcome).toBe("complete");
      expect(run.text.trimStart()).toBe(stream);
    }
  });

  test("chat, as the openai SDK reads it", async () => {
    const call = { id: "1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const message = { role: "assistant", content: "é\n", refusal: null, tool_calls: [call, { ...call, id: "2" }] };
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const completion = {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
      usage,
    };
    const run = play(WITH_USAGE, [Buffer.from(JSON.stringify(completion, null, 1))], { protocol: "chat" });
    expect(run).toMatchObject({
      outcome: "complete",
      metered: { usage: { inputTokens: 5, outputTokens: 2 }, isEstimated: false },
    });
    expect(await replayChat(run.text)).toMatchObject({ ...completion, choices: [{ finish_reason: "tool_calls", message }] });
  });
});

describe("the limit that credit is held for is the one that is sent (S30)", () => {
  function sent(protocol: Protocol, request: object, options: Partial<InputOptions> & { outputTokens: number }): object {
    const input = inputFor({ ...CHAT, stream: false, ...request }, { upstream: protocol, ...options });
    const body = createTranslation(protocol, { ...input, outputTokens: options.outputTokens }).upstream.body.toString();
    const { model: _, messages: __, stream: ___, ...fields }: Record<string, unknown> = JSON.parse(body);
    return fields;
  }

  test.for([
    [{}, { max_tokens: 50 }],
    [{ max_tokens: 8_000 }, { max_tokens: 50 }],
    [{ max_completion_tokens: 50 }, { max_tokens: 50 }],
    [{ max_completion_tokens: null, max_tokens: null }, { max_tokens: 50 }],
    [{ max_completion_tokens: 50, max_tokens: 8_000, n_predict: 8_000, max_new_tokens: 8_000 }, { max_tokens: 50 }],
    [{ n: 3 }, { n: 3, max_tokens: 50 }],
  ] as const)("chat: %j becomes %j", ([fields, expected]) => {
    expect(sent("chat", fields, { outputTokens: 50 })).toEqual(expected);
  });

  test("in the field that the server obeys, and no other", () => {
    const flags = { maxTokensField: "max_completion_tokens" } as const;
    expect(sent("chat", { max_tokens: 8_000 }, { outputTokens: 50, flags })).toEqual({ max_completion_tokens: 50 });
  });

  test.for([
    [{ max_tokens: 8_000 }, { max_tokens: 50 }],
    [{ max_tokens: 8_000, max_tokens_to_sample: 9 }, { max_tokens: 50 }],
  ] as const)("messages: %j becomes %j", ([fields, expected]) => {
    expect(sent("messages", fields, { outputTokens: 50 })).toEqual(expected);
  });

  test("messages: a thinking budget stays below it", () => {
    const thinking = (budget: number, outputTokens: number) =>
      sent("messages", { max_tokens: 32_000, thinking: { type: "enabled", budget_tokens: budget } }, { outputTokens });
    expect(thinking(20_000, 4_000)).toMatchObject({ thinking: { type: "enabled", budget_tokens: 3_999 } });
    expect(thinking(3_000, 4_000)).toMatchObject({ thinking: { type: "enabled", budget_tokens: 3_000 } });
    expect(thinking(3_000, 1_000)).toMatchObject({ thinking: { type: "enabled", budget_tokens: 1_024 } });
    expect(sent("messages", { max_tokens: 9, thinking: { type: "adaptive" } }, { outputTokens: 9 })).toMatchObject({
      thinking: { type: "adaptive" },
    });
  });

  test("messages: a number of answers is refused, because credit is held for one", () => {
    for (const fields of [{ n: 10 }, { best_of: 2 }, { n: "2" }])
      expect(() => sent("messages", { max_tokens: 9, ...fields }, { outputTokens: 9 })).toThrow("`n` must be 1");
  });
});

describe("the official SDKs read passthrough answers", () => {
  test("chat, renamed and with its usage hidden", async () => {
    const text = chunk({ role: "assistant", content: "a" }, { usage: null, model: "other" }) + FINISH + USAGE + DONE;
    const run = play(CHAT, [Buffer.from(text)], { protocol: "chat", upstreamModel: "other" });
    const completion = await replayChat(run.text);
    expect(completion).toMatchObject({ model: "m", choices: [{ finish_reason: "stop", message: { content: "a" } }] });
    expect(completion.usage).toBeUndefined();
  });

  test("messages, renamed", async () => {
    await fc.assert(
      fc.asyncProperty(messageArbitrary, async (message) => {
        const run = play(MESSAGES, [Buffer.from(toTranscript(message))], { protocol: "messages", upstreamModel: "other" });
        expect(await replayMessages(run.text)).toMatchObject({ model: "m", stop_reason: message.stop_reason });
        expect(run.metered.usage).toMatchObject({
          inputTokens: message.usage.input_tokens,
          outputTokens: message.usage.output_tokens,
        });
      }),
      { numRuns: 100 },
    );
  });

  test("a broken messages stream is the SDK's error", async () => {
    const text =
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}\n\nevent: content_bl';
    const run = play(MESSAGES, [Buffer.from(text)], { protocol: "messages" });
    await expect(replayMessages(run.text)).rejects.toMatchObject({ type: "api_error" });
  });
});
