import { expect, test } from "vitest";
import { mapStopReason } from "../../../../extproc/translate/chat-via-messages/finish.ts";

test.for([
  ["end_turn", false, "stop"],
  ["end_turn", true, "tool_calls"],
  ["tool_use", true, "tool_calls"],
  ["tool_use", false, "stop"],
  ["stop_sequence", false, "stop"],
  ["max_tokens", false, "length"],
  ["max_tokens", true, "length"],
  ["model_context_window_exceeded", false, "length"],
  ["refusal", false, "content_filter"],
  ["refusal", true, "content_filter"],
  ["pause_turn", false, "stop"],
  ["compaction", false, "stop"],
  ["something_new", false, "stop"],
  [null, false, "stop"],
  [null, true, "tool_calls"],
] as const)("%s, with tool calls: %s, is %s", ([stopReason, hasToolCalls, finishReason]) => {
  expect(mapStopReason({ stopReason, stopSequence: null, hasToolCalls, isLegacy: false }).finishReason).toBe(finishReason);
});

test("a client that speaks function_call reads function_call", () => {
  const facts = { stopReason: "tool_use", stopSequence: null, isLegacy: true };
  expect(mapStopReason({ ...facts, hasToolCalls: true }).finishReason).toBe("function_call");
  expect(mapStopReason({ ...facts, hasToolCalls: false }).finishReason).toBe("stop");
});

test("the stop sequence is told only where it was the reason", () => {
  const facts = { stopSequence: "END", hasToolCalls: false, isLegacy: false };
  expect(mapStopReason({ ...facts, stopReason: "stop_sequence" }).stopSequence).toBe("END");
  expect(mapStopReason({ ...facts, stopReason: "end_turn" }).stopSequence).toBeNull();
});
