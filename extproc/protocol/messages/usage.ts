import * as z from "zod";
import type { Usage } from "../../../contract/usage.ts";
import { countedPart } from "../json/count.ts";
import { isObject, type JsonObject } from "../json/object.ts";

/** NaN if the server wrote something that is not a count: the meter distinguishes that from an absent number. */
const tokens = z.int().nonnegative().nullish().catch(Number.NaN);

const countsSchema = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
  cache_creation: z.object({ ephemeral_5m_input_tokens: tokens, ephemeral_1h_input_tokens: tokens }).nullish().catch(undefined),
  output_tokens_details: z.object({ thinking_tokens: tokens }).nullish().catch(undefined),
});
type Counts = z.infer<typeof countsSchema>;

const usageSchema = countsSchema.extend({ iterations: z.array(countsSchema).nullish().catch(undefined) });

export interface MessagesUsageOptions {
  /** The server counts cached tokens inside `input_tokens` (profile flag `usageInclusive`). */
  isInclusive?: boolean;
}

/**
 * The `usage` object of a message or of a stream's merged events, by price class; undefined if it is not an object. Only the
 * classes that the server named are set; a value that is not a count is NaN, which the meter treats as no report.
 */
export function messagesUsage(json: unknown, { isInclusive = false }: MessagesUsageOptions = {}): Partial<Usage> | undefined {
  const parsed = usageSchema.safeParse(json);
  if (!parsed.success) return undefined;
  // The totals exclude steps that the server took on its own (compaction); `iterations` lists every step.
  const { iterations } = parsed.data;
  const steps = iterations !== undefined && iterations !== null && iterations.length > 0 ? iterations : [parsed.data];
  return steps.map((step) => stepUsage(step, isInclusive)).reduce(add);
}

/** Stream usage is cumulative: a later event overwrites the fields that it names; null names nothing. */
export function mergeUsage(earlier: JsonObject, later: unknown): JsonObject {
  if (!isObject(later)) return earlier;
  const named = Object.entries(later).filter(([, value]) => value !== null && value !== undefined);
  return { ...earlier, ...Object.fromEntries(named) };
}

function stepUsage(counts: Counts, isInclusive: boolean): Partial<Usage> {
  const cachedInputTokens = counts.cache_read_input_tokens ?? undefined;
  const cacheWriteTokens = counts.cache_creation_input_tokens ?? sumOfWrites(counts);
  const cached = [cachedInputTokens ?? 0, cacheWriteTokens ?? 0];
  const inputTokens = typeof counts.input_tokens === "number" ? counts.input_tokens - outside(cached, isInclusive) : undefined;
  const outputTokens = counts.output_tokens ?? undefined;
  const reasoningTokens = counts.output_tokens_details?.thinking_tokens ?? undefined;
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(cachedInputTokens !== undefined && { cachedInputTokens }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(reasoningTokens !== undefined && { reasoningTokens }),
  };
}

/**
 * What the cached tokens take from `input_tokens`. The meter rejects what is left if they exceed the total that includes them, and if
 * a class beside the others is not a count: without it, the prompt has no total.
 */
function outside(cached: readonly number[], isInclusive: boolean): number {
  if (isInclusive) return cached.map(countedPart).reduce((sum, tokens) => sum + tokens, 0);
  return cached.some(Number.isNaN) ? Number.NaN : 0;
}

function sumOfWrites({ cache_creation: writes }: Counts): number | undefined {
  if (writes === undefined || writes === null) return undefined;
  return (writes.ephemeral_5m_input_tokens ?? 0) + (writes.ephemeral_1h_input_tokens ?? 0);
}

function add(left: Partial<Usage>, right: Partial<Usage>): Partial<Usage> {
  const sum: Partial<Usage> = { ...left };
  for (const field of FIELDS) {
    const value = right[field];
    if (value !== undefined) sum[field] = (left[field] ?? 0) + value;
  }
  return sum;
}

const FIELDS = ["inputTokens", "cachedInputTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"] as const;
