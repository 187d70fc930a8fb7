import type { Usage } from "../../../contract/usage.ts";
import { count, countedPart, member } from "../json/count.ts";

/**
 * The usage of a response, in the gateway's disjoint classes; undefined if it has none. Responses counts cached tokens inside
 * `input_tokens`, and reasoning inside `output_tokens`. A value that is not a count is NaN, which the meter treats as no report. A
 * part that is not a count leaves its total as it is.
 */
export function responsesUsage(usage: unknown): Partial<Usage> | undefined {
  const input = inputUsage(usage);
  const output = outputUsage(usage);
  return input === undefined && output === undefined ? undefined : { ...input, ...output };
}

/** Parts that exceed their total leave a negative number, which the meter rejects as a count. */
function inputUsage(usage: unknown): Partial<Usage> | undefined {
  const total = count(usage, "input_tokens");
  if (total === undefined) return undefined;
  const details = member(usage, "input_tokens_details");
  const cached = count(details, "cached_tokens") ?? 0;
  const written = count(details, "cache_write_tokens") ?? 0;
  const inputTokens = total - countedPart(cached) - countedPart(written);
  return { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written };
}

function outputUsage(usage: unknown): Partial<Usage> | undefined {
  const total = count(usage, "output_tokens");
  if (total === undefined) return undefined;
  return { outputTokens: total, reasoningTokens: count(member(usage, "output_tokens_details"), "reasoning_tokens") ?? 0 };
}
