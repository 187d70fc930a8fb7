import * as fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { loadFixtures } from "../../../../golden/harness-fixture.ts";
import { playStream } from "../../../../golden/harness-run.ts";
import { replayChat, replayMessages } from "../replay.ts";
import { answer, completion, play, translate, type Setup } from "./chat.ts";

/** What a model might answer, whole and in pieces. */
interface Sample {
  reasoning: string;
  text: string;
  tools: { id: string; name: string; input: string }[];
  pieceSize: number;
  isInterleaved: boolean;
}

const words = fc.string({ unit: "grapheme", maxLength: 40 });
const input = fc.dictionary(fc.string({ minLength: 1 }), fc.oneof(fc.integer(), words, fc.boolean(), fc.array(words)), {
  noNullPrototype: true,
});
const samples: fc.Arbitrary<Sample> = fc.record({
  reasoning: words,
  text: words,
  tools: fc.array(
    fc.record({
      id: fc.oneof(fc.constantFrom("call_0", "functions.f:1", ""), fc.uuid()),
      name: fc.constantFrom("f", "g"),
      input: input.filter((value) => !Object.hasOwn(value, "__proto__")).map((value) => JSON.stringify(value)),
    }),
    { maxLength: 4 },
  ),
  pieceSize: fc.integer({ min: 1, max: 12 }),
  isInterleaved: fc.boolean(),
});

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) => text.slice(index * size, (index + 1) * size));
}

function chunksOf({ reasoning, text, tools, pieceSize, isInterleaved }: Sample): object[] {
  const starts = tools.map(({ id, name }, index) => ({
    index,
    delta: { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
  }));
  const args = tools.map((tool, index) =>
    pieces(tool.input, pieceSize).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
  );
  const inTurn = starts.flatMap(({ delta, index }) => [delta, ...(args[index] ?? [])]);
  const rounds = Array.from({ length: Math.max(0, ...args.map((list) => list.length)) }, (_, round) =>
    args.flatMap((list) => list.slice(round, round + 1)),
  );
  const deltas: object[] = [
    { role: "assistant", content: "" },
    ...pieces(reasoning, pieceSize).map((piece) => ({ reasoning_content: piece })),
    ...pieces(text, pieceSize).map((piece) => ({ content: piece })),
    ...(isInterleaved ? [...starts.map(({ delta }) => delta), ...rounds.flat()] : inTurn),
  ];
  const chunk = (choices: object[], rest: object = {}) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices,
    ...rest,
  });
  return [
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: tools.length > 0 ? "tool_calls" : "stop" }]),
    chunk([], { usage: USAGE }),
  ];
}

/** Enough for any answer here: a report that cannot be true is replaced by our count (S38). */
const USAGE = {
  prompt_tokens: 30,
  completion_tokens: 20_000,
  total_tokens: 20_030,
  completion_tokens_details: { reasoning_tokens: 4 },
};

function wholeOf({ reasoning, text, tools }: Sample): object {
  const message = {
    content: text,
    reasoning_content: reasoning,
    tool_calls: tools.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: input } })),
  };
  return { ...completion(message, { finish_reason: tools.length > 0 ? "tool_calls" : "stop" }), usage: USAGE };
}

describe("a stream, read by the official SDK, equals the complete answer", () => {
  test("for any answer, in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(samples, async (sample) => {
        const { text, outcome } = play([...chunksOf(sample), "[DONE]"]);
        expect(outcome).toBe("complete");
        expect(plain(await replayMessages(text))).toEqual(answer(wholeOf(sample)));
      }),
      { numRuns: inject("isNight") ? 200 : 70 },
    );
  });

  test("for any answer, according to the other SDK's reading of the upstream", async () => {
    await fc.assert(
      fc.asyncProperty(samples, async (sample) => {
        // OpenAI's helper knows no reasoning, and needs ids that are there and apart.
        const tools = sample.tools.map((tool, index) => ({ ...tool, id: `call_${index}` }));
        const chunks = chunksOf({ ...sample, tools, reasoning: "" });
        const upstream = [...chunks.map((value) => JSON.stringify(value)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
        const aggregated = await replayChat(upstream);
        const { text } = play([...chunks, "[DONE]"]);
        expect(plain(await replayMessages(text))).toEqual(answer({ ...aggregated, usage: USAGE }));
      }),
      { numRuns: inject("isNight") ? 100 : 50 },
    );
  });
});

const fixtures = loadFixtures("messages-via-chat");
const streams = fixtures.flatMap((fixture) =>
  fixture.answers
    .filter(({ kind }) => kind === "stream")
    .map(({ name, bytes }) => ({ name: `${fixture.name}/${name}`, fixture, bytes })),
);
/** Its arguments stop in the middle: the SDK reads what is there, a whole message keeps the text as it came. */
const CUT_ARGUMENTS = "messages-via-chat/tools/cut-by-length.sse";

describe("every golden stream that is complete", () => {
  const complete = streams.filter(({ fixture, bytes, name }) => {
    const { outcome, metered } = playStream(fixture, [bytes]);
    // An estimate counts the request's bytes, and the two requests differ by `stream`.
    return name !== CUT_ARGUMENTS && outcome === "complete" && !metered.isEstimated;
  });

  test.for(complete)("$name is read by the SDK as the same answer, not streamed", async ({ fixture, bytes }) => {
    const setup: Setup = { profile: fixture.setup.profile, flags: fixture.setup.flags };
    const request: object = { ...JSON.parse(fixture.request.toString()), stream: false };
    const whole: unknown = answer(bytes.toString(), request, setup);
    const read = await replayMessages(playStream(fixture, [bytes]).text);
    expect(plain(read)).toEqual(whole);
  });

  test("at least one exists", () => expect(complete.length).toBeGreaterThan(30));
});

describe("every golden stream that is incomplete", () => {
  const broken = streams.filter(({ fixture, bytes }) => playStream(fixture, [bytes]).outcome !== "complete");

  test.for(broken)("$name is an error to the SDK", async ({ fixture, bytes }) => {
    await expect(replayMessages(playStream(fixture, [bytes]).text)).rejects.toThrow(
      /api_error|overloaded_error|rate_limit_error|invalid_request_error/,
    );
  });

  test("at least one exists", () => expect(broken.length).toBeGreaterThan(5));
});

test("a thinking block survives the round trip: its text reaches the upstream unchanged", async () => {
  const { text } = play([
    ...chunksOf({ reasoning: "Because.", text: "So.", tools: [], pieceSize: 3, isInterleaved: false }),
    "[DONE]",
  ]);
  const message = await replayMessages(text);
  const next = translate({
    model: "m",
    max_tokens: 9,
    messages: [
      { role: "user", content: "why?" },
      { role: "assistant", content: message.content },
      { role: "user", content: "and?" },
    ],
  });
  expect(JSON.parse(next.upstream.body.toString())).toMatchObject({
    messages: [{}, { content: "So.", reasoning_content: "Because." }, {}],
  });
  expect(next.dropped).toEqual([]);
});

/** The SDK adds `parsed_output`, and `stop_details` where there are none. */
function plain(message: object): unknown {
  const { parsed_output: _, ...rest } = { parsed_output: null, ...message };
  return JSON.parse(JSON.stringify(rest));
}
