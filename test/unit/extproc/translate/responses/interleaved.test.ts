import { expect, test } from "vitest";
import { encodeThought } from "../../../../../extproc/translate/responses/thought.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const thought = (text: string) => ({
  type: "reasoning",
  summary: [{ type: "summary_text", text }],
  encrypted_content: encodeThought({ model: "modelx-v4-pro", thinking: text, signature: `signed ${text}` }),
});

test("thinking between text and calls returns to its position: a messages server rejects it anywhere else", () => {
  const input = [
    { role: "user", content: "Weather?" },
    thought("A"),
    { role: "assistant", content: "I will look." },
    thought("B"),
    { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    thought("C"),
    { type: "function_call", call_id: "c2", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "1" },
    { type: "function_call_output", call_id: "c2", output: "2" },
  ];
  const { upstream } = createTranslation("responses", inputFor({ model: "m", input }, { upstream: "messages" }));
  const body: { messages: { content: { type: string; thinking?: string; signature?: string }[] }[] } = JSON.parse(
    upstream.body.toString(),
  );
  expect(body.messages[1]?.content.map(({ type, thinking, signature }) => [type, thinking, signature])).toEqual([
    ["thinking", "A", "signed A"],
    ["text", undefined, undefined],
    ["thinking", "B", "signed B"],
    ["tool_use", undefined, undefined],
    ["thinking", "C", "signed C"],
    ["tool_use", undefined, undefined],
  ]);
});
