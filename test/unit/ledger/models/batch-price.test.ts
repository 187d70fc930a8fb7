import { expect, test } from "vitest";
import { batchPriceColumn, batchPriceOf, encodeBatchPrice } from "../../../../ledger/models/batch-price.ts";

/** What requests of batches cost (S58, S28). */
const PRICE = {
  inputPicoUsd: 300_000n,
  cachedInputPicoUsd: 30_001n,
  cacheWritePicoUsd: 1n,
  outputPicoUsd: 0n,
  unitPicoUsd: 3n,
  imagePrices: [{ size: "1024x1024", quality: null, unitPicoUsd: 5n }],
};

test("without a price of their own, they cost as much as any other", () => {
  expect(batchPriceOf(PRICE, null)).toBe(PRICE);
});

test("a percentage is rounded up to a pico-USD: only what is free stays free", () => {
  expect(batchPriceOf(PRICE, { percent: 50 })).toEqual({
    inputPicoUsd: 150_000n,
    cachedInputPicoUsd: 15_001n,
    cacheWritePicoUsd: 1n,
    outputPicoUsd: 0n,
    unitPicoUsd: 2n,
    imagePrices: [{ size: "1024x1024", quality: null, unitPicoUsd: 3n }],
  });
  expect(batchPriceOf(PRICE, { percent: 100 })).toEqual(PRICE);
});

test("prices of their own replace those of tokens", () => {
  const tokens = { inputPicoUsd: 1n, cachedInputPicoUsd: 2n, cacheWritePicoUsd: 3n, outputPicoUsd: 4n };
  expect(batchPriceOf(PRICE, { price: tokens })).toEqual({ ...PRICE, ...tokens });
});

test("the column has each form, with money as text", () => {
  const tokens = { inputPicoUsd: 2n ** 62n, cachedInputPicoUsd: 2n, cacheWritePicoUsd: 3n, outputPicoUsd: 4n };
  for (const batch of [{ percent: 50 }, { price: tokens }])
    expect(batchPriceColumn.parse(JSON.parse(encodeBatchPrice(batch) ?? ""))).toEqual(batch);
  expect(encodeBatchPrice(null)).toBeNull();
});
