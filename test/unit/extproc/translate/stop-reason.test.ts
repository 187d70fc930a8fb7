import { expect, test } from "vitest";
import { writeFinishReason } from "../../../../extproc/translate/chat/stop-reason.ts";
import { readStopReason, writeStopReason } from "../../../../extproc/translate/messages/stop-reason.ts";
import { readStopReason as readIncomplete } from "../../../../extproc/translate/responses/stop-reason.ts";

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
  ["MAX_TOKENS", false, "length"],
  ["length", false, "length"],
  ["model_length", false, "length"],
  ["sensitive", false, "content_filter"],
  ["content_filter", false, "content_filter"],
  ["content_filter: RECITATION", false, "content_filter"],
  ["repetition", false, "length"],
  ["stop", false, "stop"],
  ["something_new", false, "stop"],
  [null, false, "stop"],
  [null, true, "tool_calls"],
] as const)("%s, with tool calls: %s, is %s", ([stopReason, hasCalls, finishReason]) => {
  expect(writeFinishReason(readStopReason(stopReason), { hasCalls, isLegacy: false })).toBe(finishReason);
});

test("a messages server that reports a failure gives no complete answer", () => {
  for (const reason of ["error", "network_error", "Abort", "function_call_filter: MALFORMED_FUNCTION_CALL"])
    expect(() => readStopReason(reason)).toThrow(expect.objectContaining({ code: "upstream_error" }));
  expect(() => readStopReason("insufficient_system_resource")).toThrow(expect.objectContaining({ code: "overloaded" }));
});

test.for([
  ["MAX_TOKENS", "limit"],
  ["model_length", "limit"],
  ["SAFETY", "refusal"],
  ["stop", "limit"],
  ["tired", "limit"],
] as const)("a response that is incomplete because of %s ends as %s", ([reason, ending]) => {
  expect(readIncomplete({ status: "incomplete", reason, hasRefusal: false })).toBe(ending);
});

test("a client that sends function_call gets function_call", () => {
  const reason = readStopReason("tool_use");
  expect(writeFinishReason(reason, { hasCalls: true, isLegacy: true })).toBe("function_call");
  expect(writeFinishReason(reason, { hasCalls: false, isLegacy: true })).toBe("stop");
});

test("a messages client gets the stop sequence unless a call must be made", () => {
  const ending = { reason: "stop_sequence", stopSequence: "END", explanation: null } as const;
  expect(writeStopReason(ending, false)).toEqual({ stop_reason: "stop_sequence", stop_sequence: "END" });
  expect(writeStopReason(ending, true)).toEqual({ stop_reason: "tool_use", stop_sequence: null });
});
