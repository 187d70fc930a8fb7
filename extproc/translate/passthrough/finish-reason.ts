import type { FinishReason } from "../../protocol/chat/encode.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { write, type MemberEdits } from "../../protocol/json/splice.ts";
import { isFinished } from "../chat/chunk-text.ts";
import { isOrdinaryEnd } from "../conversation/server-reasons.ts";

/** The reason that a message, or a piece of one, gives for its end. @param before that of the pieces before it. */
export function reasonShown({ tool_calls: calls, function_call: legacy }: JsonObject, before: FinishReason): FinishReason {
  if (Array.isArray(calls) && calls.length > 0) return "tool_calls";
  return isObject(legacy) ? "function_call" : before;
}

/**
 * Clients run tools for the reason that says so, and some servers end every answer with `stop`.
 * @param shown by the answer's content. @returns null for a reason that stays.
 */
export function completeReason(choice: JsonObject, shown: FinishReason): MemberEdits | null {
  const { finish_reason: given } = choice;
  const hidesCalls = shown !== "stop" && isFinished(choice) && !CALLS.has(given) && isOrdinaryEnd(given);
  return hidesCalls ? { finish_reason: write(shown) } : null;
}

const CALLS: ReadonlySet<unknown> = new Set<FinishReason>(["tool_calls", "function_call"]);
