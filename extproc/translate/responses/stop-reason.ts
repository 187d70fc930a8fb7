import type { StopReason } from "../conversation/answer-event.ts";

/** Why an answer is incomplete, in Responses' words; null for one that is whole. */
const LIMITS = {
  end: null,
  stop_sequence: null,
  limit: "max_output_tokens",
  refusal: "content_filter",
} as const satisfies Record<StopReason, string | null>;

export function writeStopReason(reason: StopReason): (typeof LIMITS)[StopReason] {
  return LIMITS[reason];
}
