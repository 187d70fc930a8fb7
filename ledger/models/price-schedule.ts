import * as z from "zod";
import type { ImagePrice, Price } from "../money.ts";
import { DAY_MS } from "../../contract/days.ts";
import { batchPriceColumn } from "./batch-price.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";

/** Another price, from a moment on, at hours of the day, or both. Of the rules that apply, the last one counts. */
export interface PriceRule {
  /** Unix ms; null: always. */
  fromMs: number | null;
  /** Minutes of the UTC day, 0 to 1439; a window whose end is not after its start extends past midnight. null: all day. */
  daily: { fromMinute: number; untilMinute: number } | null;
  price: Price;
}

const MINUTE_MS = 60_000;

/** The price in force for a request that is admitted now (S28). */
export function priceAt({ price, schedule }: { price: Price; schedule: readonly PriceRule[] }, nowMs: number): Price {
  return schedule.findLast((rule) => applies(rule, nowMs))?.price ?? price;
}

function applies({ fromMs, daily }: PriceRule, nowMs: number): boolean {
  if (fromMs !== null && nowMs < fromMs) return false;
  if (daily === null) return true;
  const minute = Math.floor((nowMs % DAY_MS) / MINUTE_MS);
  const { fromMinute, untilMinute } = daily;
  return fromMinute < untilMinute ? minute >= fromMinute && minute < untilMinute : minute >= fromMinute || minute < untilMinute;
}

const pico = z.string().transform(BigInt);

/** The column's format, and that of a scheduled price: money as decimal strings. */
export const imagePricesColumn: z.ZodType<ImagePrice[]> = z.array(
  z.strictObject({ size: z.string().nullable(), quality: z.string().nullable(), unitPicoUsd: pico }),
);

/**
 * As SQL: the rules of `price_version` with the prices of their units. Those have a column of their own, because version 0.1.0
 * reads the other one strictly.
 */
export const SCHEDULE = `CASE WHEN scheduled_unit_prices = '[]' THEN schedule ELSE (
    SELECT jsonb_agg(jsonb_set(rule, '{price}', (rule -> 'price') || (scheduled_unit_prices -> (place - 1)::integer)) ORDER BY place)
    FROM jsonb_array_elements(schedule) WITH ORDINALITY AS each (rule, place)
  ) END AS schedule`;

/** The format of what it selects: money as decimal strings. */
export const scheduleColumn: z.ZodType<PriceRule[]> = z.array(
  z.strictObject({
    fromMs: z.int().nullable(),
    daily: z.strictObject({ fromMinute: z.int(), untilMinute: z.int() }).nullable(),
    price: z.strictObject({
      inputPicoUsd: pico,
      cachedInputPicoUsd: pico,
      cacheWritePicoUsd: pico,
      outputPicoUsd: pico,
      unitPicoUsd: pico.default(0n),
      imagePrices: imagePricesColumn.optional(),
    }),
  }),
);

/** As SQL: the fee of requests with provider keys; null if the model takes none. */
export const PROVIDER_KEY_FEE = `CASE WHEN provider_key_request_pico_usd IS NULL OR provider_key_millionths IS NULL THEN NULL ELSE
    jsonb_build_object('requestPicoUsd', provider_key_request_pico_usd::text, 'millionths', provider_key_millionths::text)
  END AS "providerKeyFee"`;

/** The format of what it selects. */
export const providerKeyFeeColumn: z.ZodType<ProviderKeyFee | null> = z
  .strictObject({ requestPicoUsd: pico, millionths: pico })
  .nullable();

/** The columns of a price version that every reader of prices needs; `PRICE_VERSION_SELECT` selects them. */
export const priceVersionColumns = {
  id: z.bigint(),
  version: z.int(),
  inputPicoUsd: z.bigint(),
  cachedInputPicoUsd: z.bigint(),
  cacheWritePicoUsd: z.bigint(),
  outputPicoUsd: z.bigint(),
  unitPicoUsd: z.bigint(),
  imagePrices: imagePricesColumn,
  schedule: scheduleColumn,
  batch: batchPriceColumn,
  providerKeyFee: providerKeyFeeColumn,
};

/** For the select list of a statement on `price_version`. */
export const PRICE_VERSION_SELECT = `id, version, input_pico_usd AS "inputPicoUsd",
  cached_input_pico_usd AS "cachedInputPicoUsd", cache_write_pico_usd AS "cacheWritePicoUsd",
  output_pico_usd AS "outputPicoUsd", unit_pico_usd AS "unitPicoUsd", image_prices AS "imagePrices", ${SCHEDULE}, batch, ${PROVIDER_KEY_FEE}`;

/** JSON for both columns; equal schedules are equal texts. */
export function encodeSchedule(schedule: readonly PriceRule[]): { rules: string; unitPrices: string } {
  const rules = schedule.map(({ fromMs, daily, price }) => ({
    fromMs,
    daily: daily === null ? null : { fromMinute: daily.fromMinute, untilMinute: daily.untilMinute },
    price: {
      inputPicoUsd: String(price.inputPicoUsd),
      cachedInputPicoUsd: String(price.cachedInputPicoUsd),
      cacheWritePicoUsd: String(price.cacheWritePicoUsd),
      outputPicoUsd: String(price.outputPicoUsd),
    },
  }));
  const unitPrices = schedule.map(({ price }) => ({
    unitPicoUsd: String(price.unitPicoUsd),
    ...((price.imagePrices ?? []).length === 0 ? {} : { imagePrices: writeImagePrices(price) }),
  }));
  const hasUnits = schedule.some(({ price }) => price.unitPicoUsd > 0n || (price.imagePrices ?? []).length > 0);
  return { rules: JSON.stringify(rules), unitPrices: JSON.stringify(hasUnits ? unitPrices : []) };
}

export function isSameSchedule(one: readonly PriceRule[], other: readonly PriceRule[]): boolean {
  const [{ rules, unitPrices }, second] = [encodeSchedule(one), encodeSchedule(other)];
  return rules === second.rules && unitPrices === second.unitPrices;
}

/** JSON for the column of image prices. */
export function encodeImagePrices(price: Pick<Price, "imagePrices">): string {
  return JSON.stringify(writeImagePrices(price));
}

function writeImagePrices({ imagePrices = [] }: Pick<Price, "imagePrices">) {
  return imagePrices.map(({ size, quality, unitPicoUsd }) => ({ size, quality, unitPicoUsd: String(unitPicoUsd) }));
}
