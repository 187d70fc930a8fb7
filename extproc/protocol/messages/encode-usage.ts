import type { Usage } from "../../../contract/usage.ts";

/** Usage as messages writes it: `input_tokens` excludes cached and cache-write tokens, as the gateway counts. */
export interface EncodedUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
  /** Only if the upstream reported how much was reasoning; a part of `output_tokens`. */
  output_tokens_details?: { thinking_tokens: number };
}

export function encodeMessagesUsage(usage: Usage): EncodedUsage {
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
    ...(usage.reasoningTokens > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoningTokens } } : {}),
  };
}
