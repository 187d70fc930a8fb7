import type { Usage } from "../../../contract/usage.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { withinObject, write, writeAll, type MemberEdits } from "../../protocol/json/splice.ts";
import { encodeUsage } from "../../protocol/responses/response.ts";
import { chargedMembers } from "./charged-usage.ts";

/**
 * Counts that a response's usage must have, and servers without a cache or reasoning leave out: typed clients, as async-openai for
 * Rust, lose the whole response.
 * @param counted what is charged; null for a response that has no usage yet.
 * @returns null for one that has all.
 */
export function completeResponseUsage({ usage }: JsonObject, counted: (() => Usage) | null): MemberEdits | null {
  if (!isObject(usage)) return counted === null ? null : { usage: write(encodeUsage(counted())) };
  const charged = counted === null ? null : chargedMembers(usage, encodeUsage(counted()));
  const counts = {
    ...missingTotal(usage),
    ...missingDetails(usage, "input_tokens_details", ["cached_tokens", "cache_write_tokens"]),
    ...missingDetails(usage, "output_tokens_details", ["reasoning_tokens"]),
    ...(charged !== null && writeAll(charged)),
  };
  return Object.keys(counts).length === 0 ? null : { usage: withinObject(counts) };
}

function missingTotal({ input_tokens: input, output_tokens: output, total_tokens: total }: JsonObject): MemberEdits {
  return isCount(input) && isCount(output) && !isCount(total) ? { total_tokens: write(input + output) } : {};
}

function missingDetails(usage: JsonObject, name: string, counts: readonly string[]): MemberEdits {
  const details = usage[name];
  const known = isObject(details) ? details : {};
  const missing = counts.filter((count) => !isCount(known[count]));
  const zeros = Object.fromEntries(missing.map((count) => [count, 0]));
  if (missing.length === 0) return {};
  return { [name]: isGiven(details) && !isObject(details) ? write(zeros) : withinObject(writeAll(zeros)) };
}
