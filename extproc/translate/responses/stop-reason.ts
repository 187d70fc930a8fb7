import type { StopReason } from "../conversation/answer-event.ts";
import { isServerReason, readServerReason } from "../conversation/server-reasons.ts";

/** Why an answer is incomplete, in Responses' terms; null for a complete one. */
const LIMITS = {
  end: null,
  stop_sequence: null,
  limit: "max_output_tokens",
  refusal: "content_filter",
} as const satisfies Record<StopReason, string | null>;

/** What servers write into `incomplete_details.reason`. */
const REASONS: ReadonlyMap<string, StopReason> = new Map([
  ["max_output_tokens", "limit"],
  ["max_tokens", "limit"],
  ["content_filter", "refusal"],
]);

/** Did the server cut off its answer for a reason that the table lacks? */
export function isUnknownReason({ status, reason }: { status: string; reason: string }): boolean {
  return status === "incomplete" && reason !== "" && !REASONS.has(reason.toLowerCase()) && !isServerReason(reason);
}

/** An answer that its server calls incomplete is never complete, whatever the reason: without a known one, it was cut off. */
export function readStopReason({
  status,
  reason,
  hasRefusal,
}: {
  status: string;
  reason: string | null;
  hasRefusal: boolean;
}): StopReason {
  if (status !== "incomplete") return hasRefusal ? "refusal" : "end";
  const reported = reason ?? "";
  return (REASONS.get(reported.toLowerCase()) ?? readServerReason(reported)) === "refusal" ? "refusal" : "limit";
}

export function writeStopReason(reason: StopReason): (typeof LIMITS)[StopReason] {
  return LIMITS[reason];
}
