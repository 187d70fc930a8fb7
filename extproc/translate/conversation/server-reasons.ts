import { GatewayError } from "../../../contract/errors.ts";
import { incomplete } from "../../protocol/broken-answer.ts";
import type { StopReason } from "./answer-event.ts";

/**
 * Reasons for the end of an answer, in the words that servers use whatever protocol they speak: proxies pass on those of the
 * server behind them. In lower case.
 */
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
  // vLLM, if the request asks it to watch for this.
  ["repetition", "limit"],
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

/** The server failed in the middle of its answer, or, as Gemini says, the model wrote a call that the server could not read. */
const FAILURES: ReadonlySet<string> = new Set([
  "error",
  "abort",
  "network_error",
  "function_call_filter",
  "malformed_function_call",
]);
/** DeepSeek. */
const OVERLOADED = "insufficient_system_resource";

export function isServerReason(reported: string): boolean {
  const reason = known(reported);
  return REASONS.has(reason) || FAILURES.has(reason) || reason === OVERLOADED;
}

/** Did the answer end before the model had completed it? Its last call may be half a call. */
export function isCutOff(reported: unknown): boolean {
  const reason = typeof reported === "string" ? REASONS.get(known(reported)) : undefined;
  return reason === "limit" || reason === "refusal";
}

/** Did the model complete the answer, whatever the reason says about calls? */
export function isOrdinaryEnd(reported: unknown): boolean {
  return typeof reported === "string" && REASONS.get(known(reported)) === "end";
}

/** Undefined for a reason that no server is known to give. @throws GatewayError if the reason means that the server failed. */
export function readServerReason(reported: string): StopReason | undefined {
  const failure = failureIn(reported);
  if (failure !== null) throw failure;
  return REASONS.get(known(reported));
}

/** The error that a reason stands for; null if the answer did not fail. @param reported null or of another type if the server gave none. */
export function failureIn(reported: unknown): GatewayError | null {
  if (typeof reported !== "string") return null;
  const reason = known(reported);
  if (FAILURES.has(reason)) return incomplete();
  return reason === OVERLOADED ? new GatewayError("overloaded", "The model server is overloaded. Try again later.") : null;
}

/** As in the tables. Gemini adds its own reason to that of chat: `content_filter: RECITATION`. */
function known(reported: string): string {
  const colon = reported.indexOf(":");
  return (colon < 0 ? reported : reported.slice(0, colon)).toLowerCase();
}
