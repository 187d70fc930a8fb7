import { GatewayError } from "../../../contract/errors.ts";
import type { FinishReason } from "../../protocol/chat/encode.ts";
import type { Ending, StopReason } from "../conversation/answer-event.ts";
import { incomplete } from "../../protocol/broken-answer.ts";

export interface FinishFacts {
  /** As the server wrote it; null where it gave none. */
  finishReason: string | null;
  matchedStop: string | null;
  /** The client's. */
  stopSequences: readonly string[];
  hasRefusal: boolean;
}

/** The protocol's reasons and servers' own, in lower case. Any other reads as "end" and is logged (`isUnknownReason`). */
const REASONS: ReadonlyMap<string, StopReason> = new Map([
  ["stop", "end"],
  ["tool_calls", "end"],
  ["function_call", "end"],
  // Servers of other protocols and their proxies.
  ["end_turn", "end"],
  ["tool_use", "end"],
  ["stop_sequence", "end"],
  ["completed", "end"],
  ["complete", "end"],
  // Text Generation Inference, Cohere and others.
  ["eos", "end"],
  ["eos_token", "end"],
  ["length", "limit"],
  // Gemini, Cohere and others.
  ["max_tokens", "limit"],
  ["max_output_tokens", "limit"],
  ["token_limit", "limit"],
  // Mistral: the context was full.
  ["model_length", "limit"],
  ["model_context_window_exceeded", "limit"],
  ["context_length_exceeded", "limit"],
  ["content_filter", "refusal"],
  ["content_filtered", "refusal"],
  ["refusal", "refusal"],
  // Zhipu.
  ["sensitive", "refusal"],
  // Gemini.
  ["safety", "refusal"],
  ["recitation", "refusal"],
  ["blocklist", "refusal"],
  ["prohibited_content", "refusal"],
  ["spii", "refusal"],
]);
/** The server failed in the middle of its answer. */
const FAILURES: ReadonlySet<string> = new Set(["error", "abort", "network_error"]);
/** DeepSeek. */
const OVERLOADED = "insufficient_system_resource";

/** Is this a reason that no table has? */
export function isUnknownReason(finishReason: string): boolean {
  const said = finishReason.toLowerCase();
  return said !== "" && !REASONS.has(said) && !FAILURES.has(said) && said !== OVERLOADED;
}

/** @throws GatewayError where the reason says that the server failed. */
export function readFinishReason({ finishReason, matchedStop, stopSequences, hasRefusal }: FinishFacts): Ending {
  const said = finishReason?.toLowerCase() ?? "";
  if (FAILURES.has(said)) {
    throw incomplete();
  }
  if (said === OVERLOADED) {
    throw new GatewayError("overloaded", "The model server is overloaded. Try again later.");
  }
  const plain = { stopSequence: null, explanation: null };
  const reason = REASONS.get(said);
  if (reason === "limit") return { ...plain, reason };
  if (reason === "refusal" || hasRefusal) return { ...plain, reason: "refusal" };
  if (matchedStop !== null && stopSequences.includes(matchedStop))
    return { ...plain, reason: "stop_sequence", stopSequence: matchedStop };
  return { ...plain, reason: "end" };
}

const FINISH_REASONS = {
  end: "stop",
  stop_sequence: "stop",
  limit: "length",
  refusal: "content_filter",
} as const satisfies Record<StopReason, FinishReason>;

/** Clients run tools on "tool_calls" alone: it stands where there are calls, and nowhere else. */
export function writeFinishReason(
  reason: StopReason,
  { hasCalls, isLegacy }: { hasCalls: boolean; isLegacy: boolean },
): FinishReason {
  const written = FINISH_REASONS[reason];
  if (written !== "stop" || !hasCalls) return written;
  return isLegacy ? "function_call" : "tool_calls";
}
