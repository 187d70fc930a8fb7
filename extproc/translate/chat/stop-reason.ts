import { GatewayError } from "../../../contract/errors.ts";
import type { FinishReason } from "../../protocol/chat/encode.ts";
import type { Ending, StopReason } from "../conversation/answer-event.ts";

export interface FinishFacts {
  /** As the server wrote it; null where it gave none. */
  finishReason: string | null;
  matchedStop: string | null;
  /** The client's. */
  stopSequences: readonly string[];
  hasRefusal: boolean;
}

/** Servers' own words beside the protocol's, in small letters. What is not here is an ordinary end: calls are told by themselves. */
const REASONS: ReadonlyMap<string, StopReason> = new Map([
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

/** @throws GatewayError where the reason says that the server failed. */
export function readFinishReason({ finishReason, matchedStop, stopSequences, hasRefusal }: FinishFacts): Ending {
  const said = finishReason?.toLowerCase() ?? "";
  if (FAILURES.has(said)) {
    throw new GatewayError("upstream_error", "The model server broke off the answer. Try again.");
  }
  if (said === "insufficient_system_resource") {
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
