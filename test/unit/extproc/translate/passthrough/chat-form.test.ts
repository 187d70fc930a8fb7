import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat } from "../replay.ts";
import { CHAT, DONE, play } from "./play.ts";

/** Chunks and completions that lack what clients' libraries require. */
type Json = Record<string, unknown>;

const HEAD = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const call = (index: number, id: string, written: string) => ({
  index,
  id,
  type: "function",
  function: { name: "weather", arguments: written },
});
const more = (index: number, written: string) => ({ index, function: { arguments: written } });

interface Chunk extends Json {
  choices: Choice[];
}
interface Choice extends Json {
  delta: Json & { tool_calls?: Json[] };
}

function chunks(): Chunk[] {
  const of = (delta: Choice["delta"], finish: string | null = null): Chunk => ({
    ...HEAD,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  return [
    of({ role: "assistant", content: "" }),
    ...["Good ", "day", ". ", "Bye", "."].map((content) => of({ content })),
    of({ tool_calls: [call(0, "call_1", "")] }),
    of({ tool_calls: [more(0, '{"city":')] }),
    of({ tool_calls: [more(0, '"Oslo"}')] }),
    of({ tool_calls: [call(1, "call_2", '{"city":"Rome"}')] }),
    of({}, "tool_calls"),
    { ...HEAD, choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 } },
  ];
}

const write = (all: readonly object[]) => all.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("") + DONE;
const PROPER = write(chunks());

const eachChunk = (change: (chunk: Json) => void) => () => {
  const all = chunks();
  for (const chunk of all) change(chunk);
  return all;
};
const eachChoice = (change: (choice: Choice) => void) => () => {
  const all = chunks();
  for (const choice of all.flatMap((chunk) => chunk.choices)) change(choice);
  return all;
};
const eachCall = (change: (call: Json) => void) =>
  eachChoice(({ delta }) => {
    for (const call of delta.tool_calls ?? []) change(call);
  });

const ODD: Record<string, () => object[]> = {
  "no reason for its end but [DONE]": () => chunks().filter(({ choices }) => choices[0]?.["finish_reason"] !== "tool_calls"),
  "choices without an index": eachChoice((choice) => {
    delete choice["index"];
  }),
  "an index in quotes": eachChoice((choice) => {
    choice["index"] = "0";
  }),
  "an index that begins at 1": eachChoice((choice) => {
    choice["index"] = 1;
  }),
  "the reason of an answer without calls": eachChoice((choice) => {
    if (choice["finish_reason"] !== null) choice["finish_reason"] = "stop";
  }),
  "no role": eachChoice(({ delta }) => {
    delete delta["role"];
  }),
  "empty roles": eachChoice(({ delta }) => {
    delta["role"] = "";
  }),
  "the role with every chunk": eachChoice(({ delta }) => {
    delta["role"] = "assistant";
  }),
  "the id, type and name with every piece of a call": () => {
    const all = chunks();
    for (const piece of all.flatMap((chunk) => chunk.choices).flatMap(({ delta }) => delta.tool_calls ?? [])) {
      const { id, function: described } = call(Number(piece["index"]), `call_${Number(piece["index"]) + 1}`, "");
      Object.assign(piece, { id, type: "function", function: { ...described, ...Object(piece["function"]) } });
    }
    return all;
  },
  "text as a list of parts": eachChoice(({ delta }) => {
    if (typeof delta["content"] === "string") delta["content"] = [{ type: "text", text: delta["content"] }];
  }),
  "no choices beside the usage": () => chunks().map((chunk) => (chunk.choices.length > 0 ? chunk : { ...chunk, choices: null })),
  "no delta at the end": eachChoice((choice) => {
    if (choice["finish_reason"] !== null) Reflect.set(choice, "delta", null);
  }),
  "an empty reason with every chunk": eachChoice((choice) => {
    choice["finish_reason"] ??= "";
  }),
  "calls without an index": eachCall((call) => {
    delete call["index"];
  }),
  "calls that all have the index 0": eachCall((call) => {
    call["index"] = 0;
  }),
  "calls counted from 1": eachCall((call) => {
    call["index"] = Number(call["index"]) + 1;
  }),
  "calls without a type": eachCall((call) => {
    delete call["type"];
  }),
  "calls with null for what a piece lacks": eachCall((call) => {
    call["type"] ??= null;
    call["id"] ??= null;
  }),
  "arguments as an object": () => {
    const all = chunks().filter((_, position) => position !== 7 && position !== 8);
    for (const { delta } of all.flatMap((chunk) => chunk.choices))
      for (const piece of delta.tool_calls ?? [])
        piece["function"] = { name: "weather", arguments: { city: piece["id"] === "call_1" ? "Oslo" : "Rome" } };
    return all;
  },
  "no id, no object, no time and no model": eachChunk((chunk) => {
    for (const name of ["id", "object", "created", "model"]) delete chunk[name];
  }),
  "the object of a complete answer": eachChunk((chunk) => {
    chunk["object"] = "chat.completion";
  }),
};

describe.for(Object.entries(ODD))("a chat stream with %s", ([, make]) => {
  const request = { ...CHAT, stream_options: { include_usage: true } };
  const sent = write(make());

  test("is whole for the official SDK", async () => {
    const { text, outcome, metered } = play(request, [Buffer.from(sent)], { protocol: "chat" });
    expect(outcome).toBe("complete");
    expect(metered).toMatchObject({ usage: { inputTokens: 5, outputTokens: 9 }, isEstimated: false });
    const { choices, ...head } = await replayChat(text);
    expect(head).toMatchObject({ id: expect.stringMatching(/^chatcmpl-/), created: expect.any(Number), model: "m" });
    expect(head.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 9 });
    expect(choices).toMatchObject([
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: "Good day. Bye.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
            { id: "call_2", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
          ],
        },
      },
    ]);
  });

  test("gets one role, and the same bytes however it arrives", () => {
    const whole = play(request, [Buffer.from(sent)], { protocol: "chat" }).text;
    const events = sent.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
    expect(play(request, events, { protocol: "chat" }).text).toBe(whole);
    const bytes = [...Buffer.from(sent)].map((byte) => Buffer.from([byte]));
    expect(play(request, bytes, { protocol: "chat" }).text).toBe(whole);
    expect(whole.match(/"role"/g)).toHaveLength(1);
    // OpenAI's SDK for Python joins what is repeated.
    expect(whole.match(/"id":"call_|"name"/g)).toHaveLength(4);
  });
});

test("a chat stream in proper form passes without a copy", () => {
  const events = PROPER.split(/(?<=\n\n)/).map((event) => Buffer.from(event));
  const request = { ...CHAT, stream_options: { include_usage: true } };
  expect(play(request, events, { protocol: "chat" })).toMatchObject({ text: PROPER, unchanged: events.length });
});

test("calls without ids get one each, in their stream and in a complete answer", () => {
  const calls = ["Oslo", "Rome"].map((city) => ({ function: { name: "weather", arguments: JSON.stringify({ city }) } }));
  const stream = calls.map((each) => ({ ...HEAD, choices: [{ index: 0, delta: { tool_calls: [each] }, finish_reason: null }] }));
  const { text } = play(CHAT, [Buffer.from(write(stream))], { protocol: "chat" });
  const ids = [...text.matchAll(/"id":"(call_\w+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(2);
  const choices = [
    { message: { content: null, tool_calls: calls.map((each) => ({ ...each, x: 1.5 })) }, finish_reason: "tool_calls" },
  ];
  const answer = complete({ choices });
  expect([...answer.matchAll(/"id":"(call_\w+)"/g)].map(([, id]) => id)).toEqual(ids);
});

describe("a call without arguments", () => {
  const of = (delta: Json, finish: string | null = null) => ({ ...HEAD, choices: [{ index: 0, delta, finish_reason: finish }] });
  const named = (index: number, written?: string) => ({
    ...call(index, `call_${index + 1}`, ""),
    function: { name: "now", arguments: written },
  });
  const begun = of({ role: "assistant", tool_calls: [named(0, "")] });
  const whole = [{ function: { arguments: "{}" } }, { function: { arguments: "{}" } }];

  test.for([
    { where: "in pieces", sent: [begun, of({ tool_calls: [named(1)] }), of({}, "tool_calls")] },
    { where: "in the chunk that ends its answer", sent: [begun, of({ tool_calls: [named(1, "")] }, "tool_calls")] },
    {
      where: "with empty pieces in the chunk that ends its answer",
      sent: [
        begun,
        of({ tool_calls: [named(1)] }),
        of({ tool_calls: [0, 1].map((index) => ({ index, function: { arguments: "" } })) }, "tool_calls"),
      ],
    },
    { where: "in one chunk", sent: [of({ role: "assistant", tool_calls: [named(0, ""), named(1)] }, "tool_calls")] },
    { where: "before [DONE] alone", sent: [begun, of({ tool_calls: [named(1, "")] })] },
  ])("has those of none, which clients parse: $where", async ({ sent }) => {
    const { text, metered } = play(CHAT, [Buffer.from(write(sent))], { protocol: "chat" });
    expect((await replayChat(text)).choices).toMatchObject([{ finish_reason: "tool_calls", message: { tool_calls: whole } }]);
    // What the gateway adds is not charged.
    expect(metered.usage.outputTokens).toBe(0);
  });

  test("of one of several answers is completed in that answer", () => {
    const second = { ...begun, choices: begun.choices.map((choice) => ({ ...choice, index: 1 })) };
    const ends = [0, 1].map((index) => ({
      ...HEAD,
      choices: [{ index, delta: {}, finish_reason: index ? "tool_calls" : "stop" }],
    }));
    const { text } = play({ ...CHAT, n: 2 }, [Buffer.from(write([of({ content: "hi" }), second, ...ends]))], {
      protocol: "chat",
    });
    expect(text).toContain('"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}');
    expect(text.match(/\{\}"/g)).toHaveLength(1);
  });

  test("has them in a complete answer, too", () => {
    const message = { role: "assistant", content: null, tool_calls: [named(0, ""), named(1)] };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    expect(JSON.parse(complete({ choices }))).toMatchObject({ choices: [{ message: { tool_calls: whole } }] });
  });

  test("that was cut off is left alone", () => {
    const { text } = play(CHAT, [Buffer.from(write([begun, of({}, "length")]))], { protocol: "chat" });
    expect(text).toBe(write([begun, of({}, "length")]));
    const message = { role: "assistant", content: null, tool_calls: [named(0, "")] };
    const answer = complete({ choices: [{ index: 0, message, finish_reason: "length" }] });
    expect(JSON.parse(answer)).toMatchObject({ choices: [{ message: { tool_calls: [named(0, "")] } }] });
  });
});

test("a complete answer gets what it lacks, and keeps its other bytes", () => {
  const message = { content: "hi", tool_calls: [{ id: "a", function: { name: "f", arguments: { big: 1 } } }] };
  const written = JSON.stringify({ choices: [{ message, finish_reason: "stop" }], x: 1.5 }).replace(
    '"big":1',
    '"big": 12345678901234567890',
  );
  const answer = complete(written);
  expect(JSON.parse(answer)).toMatchObject({
    id: expect.stringMatching(/^chatcmpl-/),
    object: "chat.completion",
    created: expect.any(Number),
    model: "m",
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: "hi",
          tool_calls: [{ id: "a", type: "function", function: { arguments: '{"big": 12345678901234567890}' } }],
        },
      },
    ],
  });
});

test("the only choice of a complete answer is the first, as in a stream", () => {
  const written = JSON.stringify({
    choices: [{ index: 1, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  });
  expect(JSON.parse(complete(written))).toMatchObject({ choices: [{ index: 0, message: { content: "hi" } }] });
});

const THOUGHT = { type: "thinking", thinking: [{ type: "text", text: "Hmm. " }] };

test("thinking among the parts of an answer becomes its reasoning", async () => {
  const parts = [[THOUGHT], [THOUGHT, { type: "text", text: "Good " }], "day."];
  const choices = parts.map((content, at) => ({
    index: 0,
    delta: { role: "assistant", content },
    finish_reason: at === 2 ? "stop" : null,
  }));
  const sent = write(choices.map((choice) => ({ ...HEAD, choices: [choice] })));
  const { text } = play(CHAT, [Buffer.from(sent)], { protocol: "chat" });
  expect([...text.matchAll(/"reasoning_content":"([^"]*)"/g)].map(([, thought]) => thought)).toEqual(["Hmm. ", "Hmm. "]);
  expect((await replayChat(text)).choices).toMatchObject([{ message: { role: "assistant", content: "Good day." } }]);

  const message = { role: "assistant", content: [THOUGHT, { type: "text", text: "Good day." }] };
  expect(JSON.parse(complete({ choices: [{ index: 0, message, finish_reason: "stop" }] }))).toMatchObject({
    choices: [{ message: { content: "Good day.", reasoning_content: "Hmm. " } }],
  });
});

test("text with references among its parts, as Mistral sends it, is text", async () => {
  const reference = { type: "reference", reference_ids: [0, 2] };
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hmm. " }, reference] };
  const parts = [[thought], [{ type: "text", text: "Good " }, reference, { type: "text", text: "day" }], [reference], "."];
  const choices = parts.map((content, at) => ({
    index: 0,
    delta: { role: "assistant", content },
    finish_reason: at === 3 ? "stop" : null,
  }));
  const sent = write(choices.map((choice) => ({ ...HEAD, choices: [choice] })));
  const { text } = play(CHAT, [Buffer.from(sent)], { protocol: "chat" });
  expect((await replayChat(text)).choices).toMatchObject([{ message: { content: "Good day." } }]);

  const message = { role: "assistant", content: parts.flat().map((part) => (part === "." ? { type: "text", text: "." } : part)) };
  expect(JSON.parse(complete({ choices: [{ index: 0, message, finish_reason: "stop" }] }))).toMatchObject({
    choices: [{ message: { content: "Good day.", reasoning_content: "Hmm. " } }],
  });
});

test.for([
  { name: "its reasoning under another name, too", message: { reasoning: "Hmm. ", content: [THOUGHT] }, content: null },
  { name: "an empty list of parts", message: { content: [] }, content: "" },
  { name: "parts of another type", message: { content: [{ type: "image_url" }] }, content: [{ type: "image_url" }] },
])("a message with $name", ({ message: given, content }) => {
  const message = { role: "assistant", ...given };
  const answer: unknown = JSON.parse(complete({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
  const choice = { index: 0, message: { ...message, content }, finish_reason: "stop" };
  expect(answer).toEqual(expect.objectContaining({ choices: [choice] }));
});

test.each([
  ["stop", { content: "Good day." }],
  ["tool_calls", { content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } }] }],
  ["function_call", { content: null, function_call: { name: "f", arguments: "{}" } }],
])("a complete answer without the reason of its end gets %s", async (reason, given) => {
  const message = { role: "assistant", ...given };
  const answer = { ...HEAD, object: "chat.completion", choices: [{ index: 0, message, finish_reason: null }] };
  const choices = [{ message, finish_reason: reason }];
  expect(JSON.parse(complete(answer))).toMatchObject({ choices });
  // As a stream, which its client requested.
  const { text } = play(CHAT, [Buffer.from(JSON.stringify(answer))], { protocol: "chat" });
  expect(await replayChat(text)).toMatchObject({ choices });
});

test("a complete answer in proper form keeps its bytes", () => {
  const message = {
    role: "assistant",
    content: "hi",
    tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
  };
  const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const written = JSON.stringify({ ...HEAD, object: "chat.completion", choices, usage }, null, 1);
  expect(complete(written)).toBe(written);
});

function complete(answer: object | string): string {
  const input = inputFor({ ...CHAT, stream: false }, { upstream: "chat", upstreamModel: "m" });
  const bytes = Buffer.from(typeof answer === "string" ? answer : JSON.stringify(answer));
  return createTranslation("chat", input).response(bytes, createMeter(1)).toString();
}
