import type { Stop } from "../../protocol/messages/encode-event.ts";
import type { Ending, StopReason } from "../conversation/answer-event.ts";
import { isServerReason, readServerReason } from "../conversation/server-reasons.ts";

/** Messages' stop reasons; servers give others too (server-reasons.ts). An unknown one counts as "end" and is logged. */
const STOP_REASONS: ReadonlyMap<string, StopReason> = new Map([
  ["end_turn", "end"],
  ["tool_use", "end"],
  ["pause_turn", "end"],
  ["compaction", "end"],
  ["stop_sequence", "stop_sequence"],
  ["max_tokens", "limit"],
  ["model_context_window_exceeded", "limit"],
  ["refusal", "refusal"],
]);

/** Is this a reason that the table lacks? */
export function isUnknownReason(stopReason: string): boolean {
  return stopReason !== "" && !STOP_REASONS.has(stopReason.toLowerCase()) && !isServerReason(stopReason);
}

/** @throws GatewayError if the reason means that the server failed. */
export function readStopReason(stopReason: string | null): StopReason {
  const reported = stopReason ?? "";
  return STOP_REASONS.get(reported.toLowerCase()) ?? readServerReason(reported) ?? "end";
}

/**
 * `tool_use` is written exactly if there is a tool to use: some servers end calls with "stop", others report calls and have none.
 */
export function writeStopReason({ reason, stopSequence, explanation }: Ending, hasCalls: boolean): Stop {
  switch (reason) {
    case "limit":
      return { stop_reason: "max_tokens", stop_sequence: null };
    case "refusal":
      return { stop_reason: "refusal", stop_sequence: null, stop_details: { type: "refusal", category: null, explanation } };
    case "end":
    case "stop_sequence":
      if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
      return { stop_reason: reason === "end" ? "end_turn" : "stop_sequence", stop_sequence: stopSequence };
  }
}
