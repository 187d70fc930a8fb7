import type { Usage } from "../../../contract/usage.ts";
import { encodeUsage } from "../../protocol/chat/encode.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { withinObject, write, writeAll, type MemberEdits } from "../../protocol/json/splice.ts";
import { chargedMembers } from "./charged-usage.ts";

/**
 * Usage of a complete answer whose server reports none, not all of its counts, or others than are charged: typed clients, as
 * async-openai for Rust, lose an answer that lacks one, or has a fraction or a negative number for it.
 * @returns null for an answer that has what is charged.
 */
export function completeCompletionUsage({ usage }: JsonObject, charged: Usage): MemberEdits | null {
  if (!isObject(usage)) return { usage: write(encodeUsage(charged)) };
  const members = chargedMembers(usage, encodeUsage(charged));
  return members === null ? null : { usage: withinObject(writeAll(members)) };
}

export function hasCounts({ prompt_tokens: prompt, completion_tokens: completion }: JsonObject): boolean {
  return isCount(prompt) && isCount(completion);
}
