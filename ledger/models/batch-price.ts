import * as z from "zod";
import type { Price } from "../money.ts";

/** What a request of a batch costs: a part of the price in force, or prices of its own. */
export type BatchPrice = { percent: number } | { price: Omit<Price, "unitPicoUsd" | "imagePrices"> };

/** @param batch null: as any other request. */
export function batchPriceOf(price: Price, batch: BatchPrice | null): Price {
  if (batch === null) return price;
  if ("price" in batch) return { ...price, ...batch.price };
  const part = (picoUsd: bigint) => partOf(picoUsd, BigInt(batch.percent));
  return {
    inputPicoUsd: part(price.inputPicoUsd),
    cachedInputPicoUsd: part(price.cachedInputPicoUsd),
    cacheWritePicoUsd: part(price.cacheWritePicoUsd),
    outputPicoUsd: part(price.outputPicoUsd),
    unitPicoUsd: part(price.unitPicoUsd),
    ...(price.imagePrices === undefined
      ? {}
      : { imagePrices: price.imagePrices.map((each) => ({ ...each, unitPicoUsd: part(each.unitPicoUsd) })) }),
  };
}

/** Rounded up, to a whole pico-USD: nothing that has a price becomes free. */
function partOf(picoUsd: bigint, percent: bigint): bigint {
  return (picoUsd * percent + 99n) / 100n;
}

const pico = z.string().transform(BigInt);

/** The column's format: money as decimal strings. */
export const batchPriceColumn: z.ZodType<BatchPrice | null> = z
  .union([
    z.strictObject({ percent: z.int().min(1).max(100) }),
    z.strictObject({
      price: z.strictObject({
        inputPicoUsd: pico,
        cachedInputPicoUsd: pico,
        cacheWritePicoUsd: pico,
        outputPicoUsd: pico,
      }),
    }),
  ])
  .nullable();

/** JSON for the column, or null; equal prices are equal texts. */
export function encodeBatchPrice(batch: BatchPrice | null): string | null {
  if (batch === null) return null;
  if ("percent" in batch) return JSON.stringify({ percent: batch.percent });
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } = batch.price;
  return JSON.stringify({
    price: {
      inputPicoUsd: String(inputPicoUsd),
      cachedInputPicoUsd: String(cachedInputPicoUsd),
      cacheWritePicoUsd: String(cacheWritePicoUsd),
      outputPicoUsd: String(outputPicoUsd),
    },
  });
}
