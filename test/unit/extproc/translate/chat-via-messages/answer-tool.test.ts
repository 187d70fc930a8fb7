import * as fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../../extproc/translate/translation.ts";
import { inputFor } from "../input.ts";
import { replayChat } from "../replay.ts";
import { messageArbitrary, toTranscript, type TestMessage } from "./messages.ts";

const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const HELLO = { role: "user", content: "hi" };
const CALLED = [
  { role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "answer_in_json", arguments: "{}" } }] },
  { role: "tool", tool_call_id: "c", content: "r" },
];

/** A request for a schema, of a messages server that is asked by a tool. */
function translate(fields: object = {}, schema: object = SCHEMA): Translation {
  const response_format = { type: "json_schema", json_schema: { name: "n", schema } };
  const request = { model: "m", messages: [HELLO], response_format, ...fields };
  return createTranslation(
    "chat",
    inputFor(request, { upstream: "messages", flags: { jsonSchema: "tool", thinkingControl: "budget" } }),
  );
}

function upstreamOf(fields: object = {}): { tools: { name: string }[]; tool_choice: unknown; thinking: unknown } {
  return JSON.parse(translate(fields).upstream.body.toString());
}

describe("a schema requested through a tool", () => {
  test("forces only that tool, without thinking", () => {
    expect(upstreamOf({ reasoning_effort: "high" })).toMatchObject({
      tools: [{ name: "answer_in_json", input_schema: SCHEMA }],
      tool_choice: { type: "tool", name: "answer_in_json", disable_parallel_tool_use: true },
      thinking: { type: "disabled" },
    });
    expect(translate({ reasoning_effort: "high" }).dropped).toEqual(["reasoning_effort"]);
  });

  test("uses another name if the conversation has a tool of that name", () => {
    const { tools, tool_choice } = upstreamOf({ messages: [HELLO, ...CALLED] });
    expect(tools.map(({ name }) => name)).toEqual(["answer_in_json", "answer_in_json_1"]);
    expect(tool_choice).toMatchObject({ type: "tool", name: "answer_in_json_1" });
  });

  test("is combined with tools that must not be called", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    expect(upstreamOf({ tools, tool_choice: "none" }).tool_choice).toMatchObject({ type: "tool", name: "answer_in_json" });
  });

  test("is refused by name in combination with tools, and if it describes no object (S21)", () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    const refusal = (field: string) => expect.objectContaining({ code: "invalid_request", status: 400, field });
    expect(() => translate({ tools })).toThrow(refusal("response_format"));
    for (const schema of [{}, { type: "array" }, { anyOf: [SCHEMA] }]) {
      expect(() => translate({}, schema)).toThrow(refusal("response_format.json_schema.schema"));
    }
  });
});

/** Answers in which some calls are of the tool that gives the answer. */
const answers = fc
  .tuple(messageArbitrary, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }))
  .map(([message, isAnswer]): TestMessage => ({
    ...message,
    content: message.content.map((block, index) =>
      block.type === "tool_use" && isAnswer[index] === true ? { ...block, name: "answer_in_json" } : block,
    ),
  }));

test("the answer is the tool's input, streamed or not, and contains no call", async () => {
  await fc.assert(
    fc.asyncProperty(answers, async (message) => {
      const stream = translate({ stream: true }).stream(createMeter(1));
      const text = [stream.push(Buffer.from(toTranscript(message))), stream.end()].map(String).join("");
      const streamed = (await replayChat(text)).choices[0];
      const whole: { choices: [{ message: { content: string | null; tool_calls?: unknown[] }; finish_reason: string }] } =
        JSON.parse(
          translate()
            .response(Buffer.from(JSON.stringify(message)), createMeter(1))
            .toString(),
        );
      const [{ message: answered, finish_reason }] = whole.choices;
      expect(streamed?.finish_reason).toBe(finish_reason);
      expect(streamed?.message.content ?? "").toBe(answered.content ?? "");
      expect(streamed?.message.tool_calls?.length ?? 0).toBe(answered.tool_calls?.length ?? 0);
      const answer = message.content.find((block) => block.type === "tool_use" && block.name === "answer_in_json");
      const expected = message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
      expect(answered.content ?? "").toBe(answer?.type === "tool_use" ? JSON.stringify(answer.input) : expected);
    }),
    { numRuns: inject("isNight") ? 300 : 100 },
  );
});
