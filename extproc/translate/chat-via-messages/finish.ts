import type { Ending, FinishReason } from "../../protocol/chat/encode.ts";

/** Messages' stop reasons in chat's words. An unknown or missing one is an ordinary end. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["tool_use", "tool_calls"],
  ["refusal", "content_filter"],
  // The server's own tools are unfinished, which chat cannot say.
  ["pause_turn", "stop"],
  ["compaction", "stop"],
]);

export interface StopFacts {
  stopReason: string | null;
  stopSequence: string | null;
  hasToolCalls: boolean;
  isLegacy: boolean;
}

export function mapStopReason({ stopReason, stopSequence, hasToolCalls, isLegacy }: StopFacts): Ending {
  const mapped = FINISH_REASONS.get(stopReason ?? "") ?? "stop";
  return {
    finishReason: withTools(mapped, hasToolCalls, isLegacy),
    stopSequence: stopReason === "stop_sequence" ? stopSequence : null,
  };
}

/** Clients run tools on "tool_calls" alone: it stands where there are calls, and nowhere else. */
function withTools(reason: FinishReason, hasToolCalls: boolean, isLegacy: boolean): FinishReason {
  if (reason !== "stop" && reason !== "tool_calls") return reason;
  if (!hasToolCalls) return "stop";
  return isLegacy ? "function_call" : "tool_calls";
}
