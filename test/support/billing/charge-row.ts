import * as z from "zod";

/** The ledger's charge for a request, and its price: for a SELECT from USAGE_WITH_PRICE. */
export const CHARGE_COLUMNS = `
  u.is_estimated AS "isEstimated", u.outcome, u.charge_nano_usd AS "chargeNanoUsd", u.input_tokens AS "inputTokens",
  u.cached_input_tokens AS "cachedInputTokens", u.cache_write_tokens AS "cacheWriteTokens", u.output_tokens AS "outputTokens",
  u.reasoning_tokens AS "reasoningTokens", p.input_pico_usd AS "inputPicoUsd", p.cached_input_pico_usd AS "cachedInputPicoUsd",
  p.cache_write_pico_usd AS "cacheWritePicoUsd", p.output_pico_usd AS "outputPicoUsd",
  u.units, coalesce(u.charged_unit_pico_usd, p.unit_pico_usd) AS "unitPicoUsd", u.unit_terms AS "unitTerms"`;
export const USAGE_WITH_PRICE = "usage_event u JOIN price_version p ON p.id = u.price_version_id";

const tokens = z.bigint().transform(Number);
export const chargeShape = {
  isEstimated: z.boolean(),
  outcome: z.string(),
  chargeNanoUsd: z.bigint(),
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  units: tokens,
  inputPicoUsd: z.bigint(),
  cachedInputPicoUsd: z.bigint(),
  cacheWritePicoUsd: z.bigint(),
  outputPicoUsd: z.bigint(),
  unitPicoUsd: z.bigint(),
  unitTerms: z.string().nullable(),
};
const chargeRow = z.object(chargeShape);

/** Tokens and prices in objects of their own, as the product has them. */
export function nestCharge<Row extends z.infer<typeof chargeRow>>(row: Row) {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, units, ...rest } = row;
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd, ...facts } = rest;
  return {
    ...facts,
    usage: { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...(units > 0 && { units }) },
    price: { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd },
  };
}
