import type { FinishReason } from "../../protocol/chat/encode.ts";
import type { Ending, StopReason } from "../conversation/answer-event.ts";
import { isServerReason, readServerReason } from "../conversation/server-reasons.ts";

export interface FinishFacts {
  /** As the server wrote it; null if it gave none. */
  finishReason: string | null;
  matchedStop: string | null;
  /** The client's. */
  stopSequences: readonly string[];
  hasRefusal: boolean;
}

/** Is this reason missing from every table? It counts as "end" and is logged. */
export function isUnknownReason(finishReason: string): boolean {
  return finishReason !== "" && !isServerReason(finishReason);
}

/** @throws GatewayError if the reason means that the server failed. */
export function readFinishReason({ finishReason, matchedStop, stopSequences, hasRefusal }: FinishFacts): Ending {
  const reason = readServerReason(finishReason ?? "");
  const plain = { stopSequence: null, explanation: null };
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

/** Clients run tools on "tool_calls" alone: it is written if there are calls, and only then. */
export function writeFinishReason(
  reason: StopReason,
  { hasCalls, isLegacy }: { hasCalls: boolean; isLegacy: boolean },
): FinishReason {
  const written = FINISH_REASONS[reason];
  if (written !== "stop" || !hasCalls) return written;
  return isLegacy ? "function_call" : "tool_calls";
}
