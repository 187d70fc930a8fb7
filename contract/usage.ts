/**
 * Tokens of one request by price class. The classes are disjoint: `inputTokens` excludes cached and
 * cache-write tokens (as messages counts; chat's prompt_tokens is the sum of the three).
 * `reasoningTokens` is a part of `outputTokens`, kept for display only.
 */
export interface Usage {
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** What the interface counts beside tokens (units.ts); absent: none. */
  units?: number;
}

export const NO_USAGE: Readonly<Usage> = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};

type PromptUsage = Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens">;

/** Tokens of the prompt, of all three classes: other interfaces' input or prompt tokens. */
export function promptTokensOf({ inputTokens, cachedInputTokens, cacheWriteTokens }: PromptUsage): number {
  return inputTokens + cachedInputTokens + cacheWriteTokens;
}

/** All charged tokens; reasoning is part of the output. */
export function totalTokensOf(usage: PromptUsage & Pick<Usage, "outputTokens">): number {
  return promptTokensOf(usage) + usage.outputTokens;
}
