import { expect, test } from "vitest";
import { failedShare, percentile, type Binned } from "../../../../ledger/usage/percentile.ts";

/** As `performance_bin` (ledger/migrations) does it. */
function histogramOf(values: readonly number[]): Binned[] {
  return values.map((value) => ({ bin: Math.ceil(Math.log2(Math.max(value, 1)) * 8), requests: 1 }));
}

test.for([1, 3, 250, 1_000, 59_000, 3_600_000])("the percentile of equal values of %d is within 5 %% of it", (value) => {
  const found = percentile(histogramOf([value, value, value]), 0.95) ?? 0;
  expect(Math.abs(found - value) / value).toBeLessThanOrEqual(0.05);
});

test("a percentile is the value that its share of requests does not exceed, whatever the order of the bins", () => {
  const values = Array.from({ length: 100 }, (_, index) => (index < 94 ? 100 : 10_000)).toReversed();
  const histogram = histogramOf(values);
  expect(percentile(histogram, 0.5)).toBeCloseTo(percentile(histogramOf([100]), 1) ?? 0);
  expect(percentile(histogram, 0.94)).toBeLessThan(200);
  expect(percentile(histogram, 0.95)).toBeGreaterThan(9_000);
});

test("without values there is no percentile and no share of failures", () => {
  expect([percentile([], 0.5), failedShare([])]).toEqual([undefined, undefined]);
  expect(
    failedShare([
      { bin: 0, requests: 3 },
      { bin: 1, requests: 1 },
    ]),
  ).toBe(0.25);
});
