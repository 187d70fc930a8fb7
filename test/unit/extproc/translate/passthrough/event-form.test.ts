import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayMessages } from "../replay.ts";
import { CHAT, play } from "./play.ts";
import { emptyMessage } from "../empty-message.ts";

/** Events and messages that lack what clients' libraries require. */
type Json = Record<string, unknown>;

const REQUEST = { ...CHAT, max_tokens: 10 };

interface Event extends Json {
  type: string;
  message?: Json;
  content_block?: Json;
  delta?: Json;
}

function events(): Event[] {
  const delta = (index: number, type: string, piece: Json): Event => ({
    type: "content_block_delta",
    index,
    delta: { type, ...piece },
  });
  const block = (index: number, content: Json, ...deltas: Event[]): Event[] => [
    { type: "content_block_start", index, content_block: content },
    ...deltas,
    { type: "content_block_stop", index },
  ];
  return [
    {
      type: "message_start",
      message: emptyMessage(5),
    },
    ...block(0, { type: "thinking", thinking: "", signature: "" }, delta(0, "thinking_delta", { thinking: "Hmm." })),
    ...block(1, { type: "text", text: "" }, ...["Good ", "day", ". ", "Bye."].map((text) => delta(1, "text_delta", { text }))),
    ...block(
      2,
      { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
      delta(2, "input_json_delta", { partial_json: '{"city":' }),
      delta(2, "input_json_delta", { partial_json: '"Oslo"}' }),
    ),
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { input_tokens: 5, output_tokens: 9 },
    },
    { type: "message_stop" },
  ];
}

const write = (all: readonly Event[]) => all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const each = (change: (event: Event) => void) => () => {
  const all = events();
  for (const event of all) change(event);
  return write(all);
};
const without = (isLeftOut: (event: Event) => boolean) => () => write(events().filter((event) => !isLeftOut(event)));

const ODD: Record<string, () => string> = {
  "null for the usage at the start": each(({ message }) => {
    if (message !== undefined) message["usage"] = null;
  }),
  "half of the usage at the start": each(({ message }) => {
    if (message !== undefined) message["usage"] = { output_tokens: 1 };
  }),
  "null for the content at the start": each(({ message }) => {
    if (message !== undefined) message["content"] = null;
  }),
  "a start with nothing": each(({ message }) => {
    for (const name of Object.keys(message ?? {})) delete message?.[name];
  }),
  "no start": without(({ type }) => type === "message_start"),
  "no usage at the end": each((event) => {
    if (event.type === "message_delta") event["usage"] = null;
  }),
  "blocks without their empty members": each(({ content_block: block }) => {
    for (const name of ["text", "thinking", "input"]) delete block?.[name];
  }),
  "an input that is an empty text": each(({ content_block: block }) => {
    if (block?.["type"] === "tool_use") block["input"] = "";
  }),
  "events without an index": each((event) => {
    delete event["index"];
  }),
  "blocks that all have the index 0": each((event) => {
    if ("index" in event) event["index"] = 0;
  }),
  "blocks counted from 1": each((event) => {
    if ("index" in event) event["index"] = Number(event["index"]) + 1;
  }),
  "no start of thinking and text": without(
    ({ content_block: block }) => block?.["type"] === "text" || block?.["type"] === "thinking",
  ),
  "no ends of blocks": without(({ type }) => type === "content_block_stop"),
  "a start that is sent twice": () =>
    write(events().flatMap((event) => (event.type === "message_start" ? [event, event] : [event]))),
  "ends of blocks that are sent twice": () =>
    write(events().flatMap((event) => (event.type === "content_block_stop" ? [event, event] : [event]))),
  "a report of usage after the reason": () =>
    write(
      events().flatMap((event) =>
        event.type === "message_delta"
          ? [
              event,
              { type: event.type, delta: { stop_reason: null }, usage: { output_tokens: 9 } },
              { type: event.type, usage: { output_tokens: 9 } },
            ]
          : [event],
      ),
    ),
  "a report of usage without a reason in the middle of its text, and before the reason": () =>
    write(
      events().flatMap((event) => {
        const report = { type: "message_delta", delta: { stop_reason: null }, usage: { output_tokens: 3 } };
        return event.delta?.["text"] === "day" || event.type === "message_delta" ? [report, event] : [event];
      }),
    ),
  "fractions for the usage at the end": each((event) => {
    if (event.type === "message_delta") event["usage"] = { input_tokens: 5.5, output_tokens: 9.5 };
  }),
  "no end but message_stop": without(({ type }) => type === "message_delta"),
  "null for the reason of its end": each(({ type, delta }) => {
    if (type === "message_delta" && delta !== undefined) delta["stop_reason"] = null;
  }),
  "the reason of a message without calls": each(({ type, delta }) => {
    if (type === "message_delta" && delta !== undefined) delta["stop_reason"] = "end_turn";
  }),
  "an empty text for the reason of its end": each(({ type, delta }) => {
    if (type === "message_delta" && delta !== undefined) delta["stop_reason"] = "";
  }),
  "an empty text for the reason in a later report": () =>
    write(
      events().flatMap((event) => {
        const report = { type: "message_delta", delta: { stop_reason: "", stop_sequence: "" }, usage: { output_tokens: 9 } };
        return event.type === "message_delta" ? [event, report] : [event];
      }),
    ),
  "types only in the names of events": () => write(events()).replaceAll(/data: \{"type":"\w+",?/g, "data: {"),
  "null for a piece": () => {
    const more = { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: null } };
    return write(
      events().flatMap((event) => (event["index"] === 1 && event.type === "content_block_stop" ? [more, event] : [event])),
    );
  },
  "an input in one piece that is an object": () =>
    write(
      events()
        .filter(({ delta }) => delta?.["partial_json"] !== '{"city":')
        .map((event) =>
          event.delta?.["partial_json"] === undefined
            ? event
            : { ...event, delta: { ...event.delta, partial_json: { city: "Oslo" } } },
        ),
    ),
};

describe.for(Object.entries(ODD))("a messages stream with %s", ([, make]) => {
  const sent = make();

  test("is whole for the official SDK", async () => {
    const { text, outcome } = play(REQUEST, [Buffer.from(sent)], { protocol: "messages" });
    expect(outcome).toBe("complete");
    expect(await replayMessages(text)).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: "message",
      role: "assistant",
      model: "m",
      content: [
        { type: "thinking", thinking: "Hmm." },
        { type: "text", text: "Good day. Bye." },
        { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: expect.toSatisfy(Number.isInteger), output_tokens: expect.toSatisfy(Number.isInteger) },
    });
  });

  test("comes out the same however it arrives", () => {
    const whole = play(REQUEST, [Buffer.from(sent)], { protocol: "messages" }).text;
    const pieces = sent.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
    expect(play(REQUEST, pieces, { protocol: "messages" }).text).toBe(whole);
    const bytes = [...Buffer.from(sent)].map((byte) => Buffer.from([byte]));
    expect(play(REQUEST, bytes, { protocol: "messages" }).text).toBe(whole);
    // Claude Code calls a tool at each end of its block.
    expect(whole.match(/event: content_block_stop/g)).toHaveLength(3);
  });
});

describe("the prompt's counts of the start", () => {
  const cached = { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 7 };
  const reports = (start: object, ends: readonly object[]) => {
    const all = events().flatMap((event) => {
      if (event.type === "message_start")
        return [{ ...event, message: { ...event.message, usage: { ...start, output_tokens: 1 } } }];
      return event.type === "message_delta" ? ends.map((usage) => ({ ...event, usage })) : [event];
    });
    const run = play(REQUEST, [Buffer.from(write(all))], { protocol: "messages" });
    const ended = run.text.matchAll(/^data: (\{"type":"message_delta".*)$/gm);
    return { ...run, usages: Array.from(ended, ([, data = ""]) => JSON.parse(data).usage) };
  };

  test("are repeated at the end, once, as LangChain adds them", async () => {
    const { usages, text, metered } = reports(cached, [{ output_tokens: 9 }, { output_tokens: 9 }]);
    expect(usages).toEqual([{ ...cached, output_tokens: 9 }, { output_tokens: 9 }]);
    expect(metered.usage).toMatchObject({ inputTokens: 5, cachedInputTokens: 7, outputTokens: 9 });
    expect((await replayMessages(text)).usage).toMatchObject({ ...cached, output_tokens: 9 });
  });

  test("are left alone if the server repeats them itself", () => {
    const own = { input_tokens: 12, output_tokens: 9 };
    expect(reports(cached, [own]).usages).toEqual([own]);
    expect(reports({ input_tokens: 0 }, [own]).usages).toEqual([own]);
  });

  test.each([{ input_tokens: 0 }, {}])("are the gateway's own, by which it charges, if the server has none: %j", (start) => {
    const { usages, metered } = reports(start, [{ output_tokens: 9 }, { output_tokens: 9 }]);
    expect(usages).toEqual([{ input_tokens: metered.usage.inputTokens, output_tokens: 9 }, { output_tokens: 9 }]);
    expect(metered).toMatchObject({ usage: { inputTokens: 10, outputTokens: 9 }, isEstimated: true });
  });
});

test.each([
  ["null for its reason", { delta: { stop_reason: null, stop_sequence: null } }],
  ["an empty text for its reason", { delta: { stop_reason: "", stop_sequence: null } }],
  ["no delta", {}],
])("a messages stream whose only report has %s ends with this one, as LangChain adds the output of all", (_, end) => {
  const usage = { output_tokens: 9, server_tool_use: { web_search_requests: 1 } };
  const all = events().map((event) => (event.type === "message_delta" ? { type: event.type, ...end, usage } : event));
  const { text } = play(REQUEST, [Buffer.from(write(all))], { protocol: "messages" });
  const ended = Array.from(text.matchAll(/^data: (\{.*"message_delta".*)$/gm), ([, data = ""]) => JSON.parse(data));
  expect(ended).toEqual([
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: expect.objectContaining(usage),
    },
  ]);
  expect(text).toMatch(/event: message_delta\ndata: .*\n\nevent: message_stop\n/);
});

test("a report that waits for the end of its stream counts as held", () => {
  const input = inputFor(REQUEST, { upstream: "messages", upstreamModel: "m" });
  const stream = createTranslation("messages", input).stream(createMeter(1));
  const report = { type: "message_delta", delta: { stop_reason: null }, usage: { output_tokens: 9, x: "x".repeat(100_000) } };
  const all = events().filter(({ type }) => type !== "message_stop" && type !== "message_delta");
  stream.push(Buffer.from(write([...all, report])));
  expect(stream.heldBytes()).toBeGreaterThanOrEqual(100_000);
  stream.push(Buffer.from(write(events().slice(-1))));
  expect(stream.heldBytes()).toBe(0);
});

test("a messages stream that begins with an empty reason begins with none", () => {
  const begun = events().map((event) => (event.message ? { ...event, message: { ...event.message, stop_reason: "" } } : event));
  const sent = write(begun);
  const { text } = play(REQUEST, [Buffer.from(sent)], { protocol: "messages" });
  expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? "")).toMatchObject({ message: { stop_reason: null } });
});

test("a messages stream in which another message begins ends with an error", () => {
  const [start, ...rest] = events();
  const again = { ...start, message: { ...start?.message, id: "msg_other" }, type: "message_start" };
  const { text, outcome } = play(REQUEST, [Buffer.from(write([...events().slice(0, 4), again, ...rest]))], {
    protocol: "messages",
  });
  expect(outcome).toBe("failed");
  expect(text).toMatch(/event: error\ndata: .*stopped in the middle.*\n\n$/);
});

test("a messages stream in proper form passes without a copy", () => {
  const sent = write(events());
  const pieces = sent.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
  expect(play(REQUEST, pieces, { protocol: "messages" })).toMatchObject({ text: sent, unchanged: pieces.length });
});

test("a messages stream loses chat's last line, at which clients that parse all data fail", () => {
  const stream = write(events());
  const { text, outcome } = play(REQUEST, [Buffer.from(`${stream}data: [DONE]\n\n`)], { protocol: "messages" });
  expect({ text, outcome }).toEqual({ text: stream, outcome: "complete" });
});

test("a complete message gets what it lacks, and its count of tokens", () => {
  const content = [
    { type: "text", text: "twelve bytes" },
    { type: "tool_use", name: "f", input: '{"big": 12345678901234567890}' },
  ];
  const answer = complete(JSON.stringify({ content, x: 1.5 }));
  expect(answer).toContain('"input":{"big": 12345678901234567890}');
  expect(JSON.parse(answer)).toMatchObject({
    id: expect.stringMatching(/^msg_/),
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ text: "twelve bytes" }, { id: expect.stringMatching(/^toolu_/), name: "f" }],
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    x: 1.5,
  });
});

test("calls with an empty id get one each, in their stream and in a complete message", async () => {
  const calls = ["Oslo", "Rome"].map((city) => ({ type: "tool_use", id: "", name: "weather", input: { city } }));
  const message = { ...emptyMessage(5), content: calls, stop_reason: "tool_use" };
  const idsIn = (content: readonly object[]) => content.map((block) => Reflect.get(block, "id"));
  const ids = idsIn(JSON.parse(complete(JSON.stringify(message))).content);
  expect(ids).toEqual([expect.stringMatching(/^toolu_\w+/), expect.stringMatching(/^toolu_\w+/)]);
  expect(new Set(ids).size).toBe(2);
  const { text } = play(REQUEST, [Buffer.from(JSON.stringify(message))], { protocol: "messages" });
  expect(idsIn((await replayMessages(text)).content)).toEqual(ids);
});

test.each([
  ["end_turn", [{ type: "text", text: "hi" }]],
  ["tool_use", [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }]],
])("a complete message without the reason of its end gets %s", async (reason, content) => {
  const message = JSON.stringify({ ...emptyMessage(5), content, stop_reason: null });
  for (const given of ["", "end_turn"])
    expect(JSON.parse(complete(message.replace("null", JSON.stringify(given))))).toMatchObject({ stop_reason: reason });
  expect(JSON.parse(complete(message))).toMatchObject({ stop_reason: reason, stop_sequence: null });
  // As a stream, which its client requested.
  const { text } = play(REQUEST, [Buffer.from(message)], { protocol: "messages" });
  expect(await replayMessages(text)).toMatchObject({ content, stop_reason: reason });
  expect(text.match(/event: message_delta/g)).toHaveLength(1);
});

test("a complete message with fractions for its counts gets the gateway's own", () => {
  const usage = { input_tokens: 5.5, output_tokens: -1 };
  const message = { ...emptyMessage(5), content: [{ type: "text", text: "twelve bytes" }], stop_reason: "end_turn", usage };
  expect(JSON.parse(complete(JSON.stringify(message)))).toMatchObject({ usage: { input_tokens: 1, output_tokens: 3 } });
});

test("a complete message in proper form keeps its bytes", () => {
  const message = { ...events()[0]?.message, content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" };
  const written = JSON.stringify(message, null, 1);
  expect(complete(written)).toBe(written);
});

function complete(answer: string): string {
  const input = inputFor({ ...REQUEST, stream: false }, { upstream: "messages", upstreamModel: "m" });
  return createTranslation("messages", input).response(Buffer.from(answer), createMeter(1)).toString();
}
