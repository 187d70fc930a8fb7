import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";

const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+"hi"\n*** End Patch';
const TOOL = { type: "custom", name: "apply_patch", description: "Edits files." };

/** What a Responses client gets as the input of a call whose chat server wrote these arguments. */
function inputOf(written: string): unknown {
  const call = { id: "call_1", type: "function", function: { name: "apply_patch", arguments: written } };
  const choice = { index: 0, message: { role: "assistant", content: null, tool_calls: [call] }, finish_reason: "tool_calls" };
  const request = { model: "m", input: "hi", tools: [TOOL] };
  const answer = createTranslation("responses", inputFor(request, { upstream: "chat" })).response(
    Buffer.from(JSON.stringify({ id: "c", choices: [choice] })),
    createMeter(1),
  );
  const { output }: { output: { type: string; input?: string }[] } = JSON.parse(answer.toString());
  return output.find(({ type }) => type === "custom_tool_call")?.input;
}

describe("a free-text tool gets its text, however the model wrote it", () => {
  test.for([
    ["as the function takes it", JSON.stringify({ input: PATCH })],
    ["as the text alone", PATCH],
    ["as a JSON string", JSON.stringify(PATCH)],
    ["as a member of the gateway's own", JSON.stringify({ _raw: PATCH })],
  ] as const)("%s", ([, written]) => {
    expect(inputOf(written)).toBe(PATCH);
  });

  test("other members stay for the tool to read", () => {
    const written = JSON.stringify({ patch: PATCH, _raw: "x" });
    expect(inputOf(written)).toBe(written);
  });
});
