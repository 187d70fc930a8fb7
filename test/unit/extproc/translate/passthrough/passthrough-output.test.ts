import { describe, expect, test } from "vitest";
import { createArgumentGrowth } from "../../../../../extproc/translate/chat/argument-growth.ts";
import { chatOutput, messagesOutput } from "../../../../../extproc/translate/readable-output.ts";

const chat = (delta: object, choice: object = {}) => ({ choices: [{ index: 0, delta, ...choice }] });
const sorted = ({ texts }: { texts: string[] }) => texts.toSorted();

describe("everything that a chat client can read is counted, whatever its shape (S38)", () => {
  const cases: [string, object, string[]][] = [
    ["text", chat({ role: "assistant", content: "a" }), ["a"]],
    [
      "a list of parts",
      chat({
        content: [
          { type: "text", text: "a" },
          { type: "reference", reference_ids: [1] },
        ],
      }),
      ["a"],
    ],
    ["reasoning in parts", chat({ content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] }), ["a"]],
    [
      "reasoning under several names, once",
      chat({ reasoning_content: "a", reasoning: "a", reasoning_details: [{ text: "a" }] }),
      ["a"],
    ],
    ["reasoning beside an empty name", chat({ reasoning_content: "", reasoning: "a" }), ["a"]],
    ["reasoning in details alone", chat({ reasoning_details: [{ type: "reasoning.summary", summary: "a" }] }), ["a"]],
    ["reasoning in a list", chat({ reasoning: [{ text: "a" }] }), ["a"]],
    ["a refusal", chat({ refusal: "a" }), ["a"]],
    ["a transcript, not its recording", chat({ audio: { id: "x", data: "QUJD".repeat(40), transcript: "a" } }), ["a"]],
    [
      "tool arguments, not names and ids",
      chat({ tool_calls: [{ index: 0, id: "x", type: "function", function: { name: "f", arguments: "{}a" } }] }),
      ["{}a"],
    ],
    ["tool arguments as an object", chat({ tool_calls: [{ function: { arguments: { a: 1 } } }] }), ['{"a":1}']],
    ["a custom tool's input", chat({ tool_calls: [{ custom: { name: "f", input: "a" } }] }), ["a"]],
    ["an old function call", chat({ function_call: { name: "f", arguments: "a" } }), ["a"]],
    ["text beside a delta", chat({}, { text: "a" }), ["a"]],
    ["a message in a chunk", { choices: [{ index: 0, message: { content: "a" } }] }, ["a"]],
    ["probabilities beside text, no further time", chat({ content: "a" }, { logprobs: { content: [{ token: "a" }] } }), ["a"]],
    ["probabilities alone", chat({}, { logprobs: { content: [{ token: "a", top_logprobs: [{ token: "b" }] }] } }), ["a"]],
    ["what is encrypted or signed, not at all", chat({ reasoning_details: [{ type: "reasoning.encrypted", data: "abc" }] }), []],
    ["an event without choices", { content: "a", stop: false }, ["a"]],
    ["a message without choices", { model: "m", message: { role: "assistant", content: "a" } }, ["a"]],
    [
      "no verdicts of a filter beside no choice",
      { choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { severity: "safe" } } }] },
      [],
    ],
    ["all choices", { choices: [{ delta: { content: "a" } }, { delta: { content: "b" } }] }, ["a", "b"]],
  ];

  test.for(cases)("%s", ([, json, texts]) => {
    expect(sorted(chatOutput({ ...json }))).toEqual(texts);
  });

  test("more texts than a call can have arguments are counted individually", () => {
    const many = Array.from({ length: 200_000 }, () => ({ token: "a", text: "a" }));
    expect(chatOutput(chat({}, { logprobs: { content: many } })).texts).toHaveLength(many.length);
    expect(chatOutput({ content: many }).texts).toHaveLength(many.length);
    expect(chatOutput(chat({ tool_calls: [{ function: { arguments: "a" }, parts: many }] })).texts).not.toEqual([]);
  });

  test("strings in unknown members count as text, and do not invalidate a report", () => {
    const delta = { content: "a", commentary: "bb", extra: { deep: [["cc"]] } };
    expect(chatOutput(chat(delta))).toEqual({ texts: ["a"], otherBytes: 4 });
  });

  test("signatures of any name are opaque", () => {
    const call = { function: { arguments: "a" }, extra_content: { google: { thought_signature: "long".repeat(500) } } };
    expect(chatOutput(chat({ tool_calls: [call] }))).toEqual({ texts: ["a"], otherBytes: 0 });
  });

  test("a picture counts as a picture, whatever its size", () => {
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(1_000_000)}` } };
    expect(chatOutput(chat({ images: [picture] }))).toEqual({ texts: [], otherBytes: 6_400 });
  });

  test("arguments that a server repeats from chunk to chunk are counted once", () => {
    const growth = createArgumentGrowth();
    const read = (text: string, index = 0) =>
      chatOutput(chat({ tool_calls: [{ index, function: { arguments: text } }] }), growth).texts;
    expect([read('{"a'), read('{"a":1'), read('{"a":1'), read('{"b', 1), read('{"a":1}')]).toEqual([
      ['{"a'],
      ['":1'],
      [],
      ['{"b'],
      ["}"],
    ]);
  });

  test("nesting deeper than the stack", () => {
    const deep: unknown = JSON.parse(`${"[".repeat(5_000)}"a"${"]".repeat(5_000)}`);
    expect(chatOutput(chat({ content: deep })).texts).toEqual(["a"]);
  });
});

describe("everything that a messages client can read is counted (S38)", () => {
  const cases: [string, object, string[], number][] = [
    ["text", { type: "text_delta", text: "a" }, ["a"], 0],
    ["thinking, not its signature", { type: "thinking", thinking: "a", signature: "long".repeat(50) }, ["a"], 0],
    ["what is redacted, not at all", { type: "redacted_thinking", data: "abc" }, [], 0],
    ["a tool's input", { type: "tool_use", id: "x", name: "f", input: { a: 1 } }, ['{"a":1}'], 0],
    ["a call without arguments as nothing", { type: "tool_use", id: "x", name: "f", input: {} }, [], 0],
    ["a delta of a kind of its own", { type: "sparkle_delta", sparkle: "abcd" }, [], 4],
    ["a server tool's result as text of nobody's", { type: "bash_tool_result", content: { stdout: "abcd" } }, [], 4],
    ["a quotation likewise", { type: "text", text: "a", citations: [{ cited_text: "abcd" }] }, ["a"], 4],
  ];

  test.for(cases)("%s", ([, block, texts, otherBytes]) => {
    expect(messagesOutput(block)).toEqual({ texts, otherBytes });
  });
});
