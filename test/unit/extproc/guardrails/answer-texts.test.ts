import { describe, expect, test } from "vitest";
import { piecesOf, readChecked } from "../../../../extproc/guardrails/answer-pieces.ts";
import { createAnswerTexts, OVERLAP_CHARACTERS } from "../../../../extproc/guardrails/answer-texts.ts";
import { encodeThought } from "../../../../extproc/translate/responses/thought.ts";
import { isObject, type JsonObject } from "../../../../extproc/protocol/json/object.ts";

/** Which text of an answer a hook gets (S55). */
const textsOf = (json: JsonObject) => piecesOf(json).map(({ text }) => text);
const chunk = (...choices: object[]): JsonObject => ({ id: "c", object: "chat.completion.chunk", model: "m", choices });
const delta = (content: string, index = 0) => chunk({ index, delta: { content }, finish_reason: null });
const written = (type: string, text: string, output_index = 0): JsonObject => ({
  type,
  item_id: "msg_1",
  output_index,
  content_index: 0,
  ...(type.endsWith(".delta") ? { delta: text } : { text }),
});

test("everything that a client can read is text, but for the protocols' own words", () => {
  expect(
    textsOf({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      system_fingerprint: "fp",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          logprobs: { content: [{ token: "Hello", logprob: 0 }] },
          message: {
            role: "assistant",
            content: "Hello",
            refusal: "No",
            reasoning_content: "Think",
            annotations: [{ type: "url_citation", url_citation: { url: "https://a.example", title: "A" } }],
            tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"b"}' } }],
            audio: { id: "a", data: "QUJD".repeat(40), transcript: "Said" },
            unknown_member: "Unknown",
          },
        },
      ],
      usage: { prompt_tokens: 1 },
    }),
  ).toEqual(["Hello", "No", "Think", "https://a.example", "A", "look", '{"at":"b"}', "Said", "Unknown"]);
});

test("of a message, blocks and the arguments of calls with their names", () => {
  expect(
    textsOf({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Think", signature: "c2ln" },
        { type: "redacted_thinking", data: "b3BhcXVl" },
        { type: "text", text: "Hello" },
        { type: "tool_use", id: "t", name: "look", input: { where: "here" } },
        { type: "tool_use", id: "t", name: "rest", input: {} },
      ],
      stop_reason: "tool_use",
    }),
  ).toEqual(["Think", "Hello", "look", '{"where":"here"}', "rest"]);
});

test("of a response, what the model wrote, and not the client's own words that it repeats", () => {
  expect(
    textsOf({
      id: "resp_1",
      object: "response",
      instructions: "Be brief",
      tools: [{ type: "function", name: "look", description: "Looks" }],
      metadata: { topic: "x" },
      output: [
        { type: "reasoning", id: "i", summary: [{ type: "summary_text", text: "Think" }], encrypted_content: "gAAAA" },
        { type: "message", content: [{ type: "output_text", text: "Hello" }] },
      ],
    }),
  ).toEqual(["Think", "Hello"]);
});

test("reasoning that the gateway packs is text", () => {
  const packed = encodeThought({ model: "m", thinking: "hidden", signature: "s" });
  expect(textsOf({ output: [{ type: "reasoning", encrypted_content: packed }] })).toEqual(["hidden"]);
});

test("an answer of any depth is read", () => {
  let json: unknown = { text: "deep" };
  for (let depth = 0; depth < 50_000; depth++) json = { in: json };
  expect(isObject(json) && textsOf(json)).toEqual(["deep"]);
});

test("what is no object is text, and the end of a stream is none", () => {
  expect(readChecked(" [DONE]")).toBeNull();
  for (const written of ["plain words", '["a list"]', '"a string"'])
    expect(textsOf(readChecked(written) ?? {})).toEqual([written]);
  expect(() => readChecked(`{"a":[${"[],".repeat(600_000)}[]]}`)).toThrow("more JSON values than can be checked");
});

test("pieces of one location are put together, across events and windows", () => {
  const texts = createAnswerTexts();
  for (const piece of ["for", "bid"]) texts.add(delta(piece));
  texts.add(delta("other", 1));
  expect(texts.take()).toEqual(["forbid", "other"]);
  expect(texts.add(delta("den"))).toBe(3);
  expect(texts.take()).toEqual(["forbidden"]);
  expect(texts.take()).toEqual([]);
});

test("a window begins with the end of the one before", () => {
  const texts = createAnswerTexts();
  texts.add(delta("x".repeat(1_000)));
  texts.take();
  texts.add(delta("y"));
  expect(texts.take()).toEqual([`${"x".repeat(OVERLAP_CHARACTERS)}y`]);
});

const call = (piece: string): JsonObject =>
  chunk({ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } });

describe("characters that are escaped in arguments are read", () => {
  const WRITTEN = '{"at":"\\u7981\\u6b62 \\ud83d\\uDEAB \\\\u0041 \\n"}';
  const READ = '{"at":"禁止 🚫 \\\\u0041 \\n"}';

  test.for([
    ["a completion", chunk({ index: 0, message: { tool_calls: [{ function: { arguments: WRITTEN } }] } })],
    ["a chunk", call(WRITTEN)],
    ["a message", { content: [{ type: "tool_use", input: WRITTEN }] }],
    ["a block", { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: WRITTEN } }],
    ["a response", { object: "response", output: [{ type: "function_call", arguments: WRITTEN }] }],
    ["a piece of a response", { type: "response.function_call_arguments.delta", output_index: 0, delta: WRITTEN }],
  ] as const)("in %s", ([, json]) => {
    const texts = createAnswerTexts();
    texts.add(json);
    expect(texts.take()).toEqual([READ]);
  });

  test("across events and windows", () => {
    const texts = createAnswerTexts();
    for (const piece of ['{"at":"\\u79', "81"]) texts.add(call(piece));
    expect(texts.take()).toEqual(['{"at":"禁']);
    for (const piece of ["\\", "u6b62"]) texts.add(call(piece));
    expect(texts.take()).toEqual(['{"at":"禁止']);
  });

  test("and no fewer of them begin the next window", () => {
    const texts = createAnswerTexts();
    texts.add(call("\\u7981".repeat(1_000)));
    texts.take();
    texts.add(call("\\u6b62"));
    expect(texts.take()).toEqual([`${"禁".repeat(OVERLAP_CHARACTERS)}止`]);
  });

  test("but not in text", () => {
    const texts = createAnswerTexts();
    texts.add(delta("\\u7981"));
    expect(texts.take()).toEqual(["\\u7981"]);
  });
});

test("a text that the Responses protocol repeats is asked about once, and one that differs is asked about", () => {
  const texts = createAnswerTexts();
  texts.add(written("response.output_text.delta", "Hel"));
  texts.add(written("response.output_text.delta", "lo"));
  expect(texts.add(written("response.output_text.done", "Hello"))).toBe(0);
  const item = { type: "message", content: [{ type: "output_text", text: "Hello" }] };
  expect(texts.add({ type: "response.output_item.done", output_index: 0, item })).toBe(0);
  expect(texts.add({ type: "response.completed", response: { object: "response", output: [item] } })).toBe(0);
  expect(texts.take()).toEqual(["Hello"]);
  expect(texts.add(written("response.output_text.done", "Help"))).toBe(4);
  // A piece is never left out because another text is the same.
  expect(texts.add(written("response.output_text.delta", "Hello"))).toBe(5);
});

test("an answer of more locations than any has is an error of its server", () => {
  const texts = createAnswerTexts();
  const add = () => {
    for (let index = 0; index < 20_000; index++) texts.add(delta("x", index));
  };
  expect(add).toThrow(/more than \d+ blocks/);
});
