import * as z from "zod";
import type { Queryable } from "./database.ts";

export interface UsageByModelAndDay {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  model: string;
  requests: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  /** A part of outputTokens. */
  reasoningTokens: number;
  chargeNanoUsd: bigint;
}

/** Tokens add up far below 2^53, and are shown as JSON numbers; money stays bigint. */
const tokens = z.bigint().transform(Number);

const usageRow = z.strictObject({
  day: z.string(),
  model: z.string(),
  requests: tokens,
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  chargeNanoUsd: z.bigint(),
});

/** What one API key used, by UTC day and model, oldest day first (S29). Both days are included. */
export async function usageByModelAndDay(
  database: Queryable,
  { keyId, fromDay, toDay }: { keyId: string; fromDay: string; toDay: string },
): Promise<UsageByModelAndDay[]> {
  return database.query({
    text: `SELECT day, model, sum(requests)::bigint AS requests, sum(input_tokens)::bigint AS "inputTokens",
             sum(cached_input_tokens)::bigint AS "cachedInputTokens", sum(cache_write_tokens)::bigint AS "cacheWriteTokens",
             sum(output_tokens)::bigint AS "outputTokens", sum(reasoning_tokens)::bigint AS "reasoningTokens",
             sum(charge_nano_usd)::bigint AS "chargeNanoUsd"
           FROM usage_by_day WHERE key_id = $1 AND day BETWEEN $2 AND $3
           GROUP BY day, model ORDER BY day, model`,
    values: [keyId, fromDay, toDay],
    row: usageRow,
  });
}
