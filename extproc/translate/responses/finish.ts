/** Why an answer is incomplete, in Responses' words. */
export type Limit = "max_output_tokens" | "content_filter";

/** Messages' stop reasons. What is not here, known or not, is an ordinary end: tool calls are told by their items. */
const LIMITS: ReadonlyMap<string, Limit> = new Map([
  ["max_tokens", "max_output_tokens"],
  ["model_context_window_exceeded", "max_output_tokens"],
  ["refusal", "content_filter"],
]);

/** Null for an answer that is whole. */
export function limitOf(stopReason: string | null): Limit | null {
  return LIMITS.get(stopReason ?? "") ?? null;
}
