import type { Usage } from "../../../contract/usage.ts";

export interface ChatUsageOptions {
  /** The upstream leaves reasoning out of `completion_tokens` (profile flag). */
  reasoningExcluded?: boolean;
}

/**
 * The usage that a completion or a chunk carries, in the gateway's disjoint classes; undefined where it has none.
 * Chat counts cached tokens inside `prompt_tokens`, the gateway outside. A class is named only when the upstream
 * gave its total, and then together with its parts, so that a later report never leaves half of an earlier one.
 * A total that is no count is NaN, which the meter takes for no report.
 *
 * @param json the whole completion or chunk, parsed: some servers keep usage in `x_groq.usage` or inside the choice.
 */
export function chatUsage(json: unknown, options: ChatUsageOptions = {}): Partial<Usage> | undefined {
  const usage = findUsage(json);
  if (usage === undefined) return undefined;
  const prompt = promptUsage(usage);
  const completion = completionUsage(usage, options.reasoningExcluded ?? false);
  return prompt === undefined && completion === undefined ? undefined : { ...prompt, ...completion };
}

function findUsage(json: unknown): object | undefined {
  const choices = member(json, "choices");
  const candidates = [
    member(json, "usage"),
    member(member(json, "x_groq"), "usage"),
    Array.isArray(choices) ? member(choices[0], "usage") : undefined,
  ];
  return candidates.find((candidate) => typeof candidate === "object" && candidate !== null) ?? undefined;
}

function promptUsage(usage: object): Partial<Usage> | undefined {
  const prompt = total(usage, "prompt_tokens");
  if (prompt === undefined) return undefined;
  const details = member(usage, "prompt_tokens_details");
  // DeepSeek names its cache hits beside the total; they are part of it all the same.
  const cached = Math.min(tokens(details, "cached_tokens") ?? tokens(usage, "prompt_cache_hit_tokens") ?? 0, prompt);
  const written = Math.min(tokens(details, "cache_write_tokens") ?? 0, prompt - cached);
  return { inputTokens: prompt - cached - written, cachedInputTokens: cached, cacheWriteTokens: written };
}

function completionUsage(usage: object, isReasoningExcluded: boolean): Partial<Usage> | undefined {
  const completion = total(usage, "completion_tokens");
  if (completion === undefined) return undefined;
  const reasoning = tokens(member(usage, "completion_tokens_details"), "reasoning_tokens") ?? 0;
  const output = isReasoningExcluded || leavesReasoningOut(usage, completion, reasoning) ? completion + reasoning : completion;
  return { outputTokens: output, reasoningTokens: Math.min(reasoning, output) };
}

/** Some servers give themselves away: their total is prompt + completion + reasoning. */
function leavesReasoningOut(usage: object, completion: number, reasoning: number): boolean {
  const prompt = tokens(usage, "prompt_tokens");
  const total = tokens(usage, "total_tokens");
  return reasoning > 0 && prompt !== undefined && total === prompt + completion + reasoning;
}

/** NaN if the server wrote something that is no count: the meter tells that from a total that is absent. */
function total(usage: object, name: string): number | undefined {
  const value = member(usage, name);
  return value === undefined || value === null ? undefined : (tokens(usage, name) ?? Number.NaN);
}

function tokens(holder: unknown, name: string): number | undefined {
  const value = member(holder, name);
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function member(holder: unknown, name: string): unknown {
  return typeof holder === "object" && holder !== null && Object.hasOwn(holder, name) ? Reflect.get(holder, name) : undefined;
}
