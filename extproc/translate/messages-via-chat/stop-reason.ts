import { GatewayError } from "../../../contract/errors.ts";
import type { Stop } from "../../protocol/messages/encode-event.ts";

export interface Ending {
  /** As the upstream wrote it; null where it gave none. */
  finishReason: string | null;
  matchedStop: string | null;
  stopSequences: readonly string[];
  hasTools: boolean;
  hasRefusal: boolean;
}

/**
 * Chat's finish_reason as messages' stop_reason. `tool_use` is said exactly when there is a tool to use: some
 * servers end tool calls with "stop", others say "tool_calls" without one.
 *
 * @throws GatewayError where the reason says that the upstream failed.
 */
export function mapFinishReason({ finishReason, matchedStop, stopSequences, hasTools, hasRefusal }: Ending): Stop {
  if (finishReason === "error" || finishReason === "abort") {
    throw new GatewayError("upstream_error", "The model server broke off the answer. Try again.");
  }
  if (finishReason === "insufficient_system_resource") {
    throw new GatewayError("overloaded", "The model server is overloaded. Try again later.");
  }
  if (finishReason === "length") return { stop_reason: "max_tokens", stop_sequence: null };
  if (finishReason === "content_filter" || hasRefusal) return refusal();
  if (hasTools) return { stop_reason: "tool_use", stop_sequence: null };
  if (matchedStop !== null && stopSequences.includes(matchedStop))
    return { stop_reason: "stop_sequence", stop_sequence: matchedStop };
  return { stop_reason: "end_turn", stop_sequence: null };
}

function refusal(): Stop {
  return {
    stop_reason: "refusal",
    stop_sequence: null,
    stop_details: { type: "refusal", category: null, explanation: null },
  };
}
