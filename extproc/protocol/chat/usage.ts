import type { Usage } from "../../../contract/usage.ts";
import { count, countedPart, member } from "../json/count.ts";

export interface ChatUsageOptions {
  /** The upstream excludes reasoning from `completion_tokens` (profile flag). */
  reasoningExcluded?: boolean;
}

/**
 * The usage that a completion or a chunk carries, in the gateway's disjoint classes; undefined where it has none.
 * Chat counts cached tokens inside `prompt_tokens`, the gateway outside. A class is named only when the upstream
 * gave its total, and then together with its parts, so that a later report never leaves half of an earlier one.
 * What is no count is NaN, which the meter takes for no report. A part that is no count leaves its total as it is.
 *
 * @param json the whole completion or chunk, parsed: some servers keep usage in `x_groq.usage` or inside the choice.
 */
export function chatUsage(json: unknown, options: ChatUsageOptions = {}): Partial<Usage> | undefined {
  const reports = findReports(json);
  if (reports.length === 0) return undefined;
  const prompt = firstUsable(reports.map(promptUsage));
  const completion = firstUsable(reports.map((report) => completionUsage(report, options.reasoningExcluded ?? false)));
  return prompt === undefined && completion === undefined ? undefined : { ...prompt, ...completion };
}

function findReports(json: unknown): object[] {
  const choices = member(json, "choices");
  const candidates = [member(json, "usage"), member(member(json, "x_groq"), "usage")];
  if (Array.isArray(choices)) for (const choice of choices) candidates.push(member(choice, "usage"));
  return candidates.filter((candidate) => typeof candidate === "object" && candidate !== null);
}

/** The first that counts something. An empty or zero report in one place must not hide the numbers in another. */
function firstUsable(reports: readonly (Partial<Usage> | undefined)[]): Partial<Usage> | undefined {
  const present = reports.filter((report) => report !== undefined);
  if (present.length < 2) return present[0];
  const sum = (report: Partial<Usage>) => Object.values(report).reduce((total, tokens) => total + tokens, 0);
  return present.find((report) => sum(report) > 0) ?? present.find((report) => sum(report) === 0) ?? present[0];
}

/** Parts that exceed their total leave a negative number, which the meter rejects as a count. */
function promptUsage(usage: object): Partial<Usage> | undefined {
  const prompt = count(usage, "prompt_tokens");
  if (prompt === undefined) return undefined;
  const details = member(usage, "prompt_tokens_details");
  // DeepSeek and Moonshot report their cache hits next to the total; they are still part of it.
  const cached = count(details, "cached_tokens") ?? count(usage, "prompt_cache_hit_tokens") ?? count(usage, "cached_tokens") ?? 0;
  // Qwen has the name of Messages for it, LiteLLM a shorter one.
  const written =
    count(details, "cache_write_tokens") ??
    count(details, "cache_creation_input_tokens") ??
    count(details, "cache_creation_tokens") ??
    0;
  const inputTokens = prompt - countedPart(cached) - countedPart(written);
  return { inputTokens, cachedInputTokens: cached, cacheWriteTokens: written };
}

function completionUsage(usage: object, isReasoningExcluded: boolean): Partial<Usage> | undefined {
  const completion = count(usage, "completion_tokens");
  if (completion === undefined) return undefined;
  const reported = count(member(usage, "completion_tokens_details"), "reasoning_tokens");
  const reasoning = reported ?? (isReasoningExcluded ? restOfTotal(usage, completion) : 0);
  const isOutside = isReasoningExcluded || leavesReasoningOut(usage, completion, reasoning);
  const output = isOutside ? completion + countedPart(reasoning) : completion;
  return { outputTokens: output, reasoningTokens: reasoning };
}

/** Gemini reports its thinking only there. Without the flag, the rest could be anything: other proxies leave cached tokens there. */
function restOfTotal(usage: object, completion: number): number {
  const rest = (count(usage, "total_tokens") ?? 0) - (count(usage, "prompt_tokens") ?? Number.NaN) - completion;
  return rest > 0 ? rest : 0;
}

/** Some servers are recognisable: their total is prompt + completion + reasoning. */
function leavesReasoningOut(usage: object, completion: number, reasoning: number): boolean {
  return reasoning > 0 && count(usage, "total_tokens") === (count(usage, "prompt_tokens") ?? Number.NaN) + completion + reasoning;
}
