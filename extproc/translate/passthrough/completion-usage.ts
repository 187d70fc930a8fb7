import type { Usage } from "../../../contract/usage.ts";
import { encodeUsage } from "../../protocol/chat/encode.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { withinObject, write, writeAll, type MemberEdits } from "../../protocol/json/splice.ts";

/**
 * Usage of a complete answer whose server reports none, or not all of its counts: typed clients, as async-openai for Rust, lose an
 * answer that lacks one, or has a fraction or a negative number for it.
 * @param counted by the gateway, which charges by it.
 * @returns null for an answer that has all.
 */
export function completeCompletionUsage({ usage }: JsonObject, counted: () => Usage): MemberEdits | null {
  if (!isObject(usage)) return isGiven(usage) ? null : { usage: write(encodeUsage(counted())) };
  const missing = missingCounts(usage, counted);
  return missing === null ? null : { usage: withinObject(writeAll(missing)) };
}

/** @returns null if it has all. */
export function missingCounts(usage: JsonObject, counted: () => Usage): Record<string, number> | null {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  if (isCount(prompt) && isCount(completion)) return isCount(total) ? null : { total_tokens: prompt + completion };
  const own = encodeUsage(counted());
  return {
    prompt_tokens: isCount(prompt) ? prompt : own.prompt_tokens,
    completion_tokens: isCount(completion) ? completion : own.completion_tokens,
    total_tokens: own.total_tokens,
  };
}
