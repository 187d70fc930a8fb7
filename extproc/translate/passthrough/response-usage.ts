import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { withinObject, write, type MemberEdits } from "../../protocol/json/splice.ts";

/**
 * Counts that a response's usage must have, and servers without a cache or reasoning leave out: typed clients, as async-openai for
 * Rust, lose the whole response.
 * @returns null for one that has all, and for a response without usage.
 */
export function completeResponseUsage({ usage }: JsonObject): MemberEdits | null {
  if (!isObject(usage)) return null;
  const counts = {
    ...missingDetail(usage, "input_tokens_details", "cached_tokens"),
    ...missingDetail(usage, "output_tokens_details", "reasoning_tokens"),
    ...missingTotal(usage),
  };
  return Object.keys(counts).length === 0 ? null : { usage: withinObject(counts) };
}

function missingDetail(usage: JsonObject, name: string, count: string): MemberEdits {
  const details = usage[name];
  if (isObject(details) && typeof details[count] === "number") return {};
  return { [name]: withinObject({ [count]: write(0) }) };
}

function missingTotal({ total_tokens: total, input_tokens: input, output_tokens: output }: JsonObject): MemberEdits {
  if (typeof total === "number" || typeof input !== "number" || typeof output !== "number") return {};
  return { total_tokens: write(input + output) };
}
