import * as fc from "fast-check";
import { expect, inject, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat } from "../replay.ts";
import { messageArbitrary, toTranscript, type TestMessage } from "./messages.ts";

const REQUEST = {
  model: "modelx-v4-pro",
  messages: [{ role: "user", content: "hi" }],
  stream: true,
  stream_options: { include_usage: true },
};

function whole(message: TestMessage) {
  const meter = createMeter(100);
  const body = translation().response(Buffer.from(JSON.stringify(message)), meter);
  const completion: unknown = JSON.parse(body.toString("utf8"));
  return { completion, metered: meter.final() };
}

function streamed(message: TestMessage) {
  const meter = createMeter(100);
  const stream = translation().stream(meter);
  const pushed = stream.push(Buffer.from(toTranscript(message)));
  const text = pushed.toString() + stream.end().toString();
  return { text, metered: meter.final(), outcome: stream.outcome() };
}

function translation() {
  return createTranslation("chat", inputFor(REQUEST, { upstream: "messages" }));
}

test("the openai SDK reads the same from the stream as from the complete answer", async () => {
  await fc.assert(
    fc.asyncProperty(messageArbitrary, async (message) => {
      const { completion, metered } = whole(message);
      const { text, metered: streamMetered, outcome } = streamed(message);
      expect(outcome).toBe("complete");
      expect(streamMetered).toEqual(metered);
      const replayed = await replayChat(text);
      expect(comparable(replayed)).toEqual(comparable(completion));
      expect(joined(text, "reasoning_content")).toBe(reasoning(completion, "reasoning_content") ?? "");
      expect(listed(text, "reasoning_details")).toEqual(reasoning(completion, "reasoning_details") ?? []);
    }),
    { numRuns: inject("isNight") ? 300 : 100 },
  );
});

test("the usage identity holds: prompt and completion tokens are the sums of the price classes", () => {
  fc.assert(
    fc.property(messageArbitrary, (message) => {
      const { completion, metered } = whole(message);
      const { usage } = metered;
      expect(Object(completion).usage).toMatchObject({
        prompt_tokens: usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens,
        completion_tokens: usage.outputTokens,
        total_tokens: usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens + usage.outputTokens,
      });
      expect(usage).toMatchObject({
        inputTokens: message.usage.input_tokens,
        cachedInputTokens: message.usage.cache_read_input_tokens,
        cacheWriteTokens: message.usage.cache_creation_input_tokens,
        outputTokens: message.usage.output_tokens,
      });
      expect(metered.isEstimated).toBe(false);
    }),
  );
});

test("an upstream's error in mid-stream is the SDK's error", async () => {
  const stream = translation().stream(createMeter(1));
  const transcript = toTranscript({ ...EMPTY, content: [{ type: "text", text: "abc" }] });
  const before = stream.push(Buffer.from(transcript.slice(0, transcript.indexOf("event: message_delta")))).toString();
  const error = stream
    .push(Buffer.from('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n'))
    .toString();
  await expect(replayChat(before + error + stream.end().toString())).rejects.toMatchObject({ code: "overloaded" });
});

test("a broken stream is the SDK's error too, never a short answer", async () => {
  const transcript = toTranscript({ ...EMPTY, content: [{ type: "text", text: "abc" }] });
  const stream = translation().stream(createMeter(1));
  const text =
    stream.push(Buffer.from(transcript.slice(0, transcript.indexOf("event: message_stop")))).toString() + stream.end().toString();
  expect(stream.outcome()).toBe("truncated");
  await expect(replayChat(text)).rejects.toMatchObject({ code: "upstream_error" });
});

const EMPTY: TestMessage = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};

/** What both forms must agree on; the SDK adds members of its own. */
function comparable(completion: unknown): unknown {
  const { id, created, model, choices, usage } = Object(completion);
  const { message, finish_reason } = choices[0];
  const calls = (message.tool_calls ?? []).map((call: unknown) => {
    const { id, type, function: called } = Object(call);
    return { id, type, name: called.name, arguments: called.arguments };
  });
  return { id, created, model, usage, finish_reason, calls, content: message.content ?? "", refusal: message.refusal ?? null };
}

function reasoning(completion: unknown, member: string): unknown {
  return Object(completion).choices[0].message[member];
}

function deltas(text: string, member: string): unknown[] {
  const events = text.split("\n\n").filter((event) => event.startsWith("data: {"));
  return events.flatMap((event) => {
    const delta = Object(JSON.parse(event.slice("data: ".length))).choices[0]?.delta ?? {};
    return delta[member] === undefined ? [] : [delta[member]];
  });
}

function joined(text: string, member: string): string {
  return deltas(text, member).join("");
}

function listed(text: string, member: string): unknown[] {
  return deltas(text, member).flat();
}
