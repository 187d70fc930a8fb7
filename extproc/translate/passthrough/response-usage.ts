import type { Usage } from "../../../contract/usage.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { withinObject, write, writeAll, type MemberEdits } from "../../protocol/json/splice.ts";
import { encodeUsage } from "../../protocol/responses/response.ts";

/**
 * Counts that a response's usage must have, and servers without a cache or reasoning leave out: typed clients, as async-openai for
 * Rust, lose the whole response.
 * @param counted by the gateway, in place of tokens that the server does not report; null for a response that has no usage yet.
 * @returns null for one that has all.
 */
export function completeResponseUsage({ usage }: JsonObject, counted: (() => Usage) | null): MemberEdits | null {
  if (!isObject(usage)) return counted === null || isGiven(usage) ? null : { usage: write(encodeUsage(counted())) };
  const counts = {
    ...missingTokens(usage, counted),
    ...missingDetails(usage, "input_tokens_details", ["cached_tokens", "cache_write_tokens"]),
    ...missingDetails(usage, "output_tokens_details", ["reasoning_tokens"]),
  };
  return Object.keys(counts).length === 0 ? null : { usage: withinObject(counts) };
}

function missingTokens(usage: JsonObject, counted: (() => Usage) | null): MemberEdits {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage;
  if (isCount(input) && isCount(output)) return isCount(total) ? {} : { total_tokens: write(input + output) };
  if (counted === null) return {};
  const own = encodeUsage(counted());
  return writeAll({
    input_tokens: isCount(input) ? input : own.input_tokens,
    output_tokens: isCount(output) ? output : own.output_tokens,
    total_tokens: own.total_tokens,
  });
}

function missingDetails(usage: JsonObject, name: string, counts: readonly string[]): MemberEdits {
  const details = usage[name];
  const known = isObject(details) ? details : {};
  const missing = counts.filter((count) => !isCount(known[count]));
  return missing.length === 0 ? {} : { [name]: withinObject(Object.fromEntries(missing.map((count) => [count, write(0)]))) };
}
