import { expect, test } from "vitest";
import { showPrice, showUsd } from "../../../dashboard/money.ts";

test.for([
  [0n, "$0.00"],
  [1n, "$0.000000001"],
  [28_389_600n, "$0.0283896"],
  [500_000_000n, "$0.50"],
  [4_998_120_000n, "$4.9981"],
  [4_999_999_999n, "$4.9999"],
  [1_234_567_000_000_000n, "$1,234,567.00"],
  [-2_500_000_000n, "−$2.50"],
] as const)("%s nano-USD is shown as %s", ([nanoUsd, text]) => {
  expect(showUsd(nanoUsd)).toBe(text);
});

test.for([
  [300_000n, "$0.30"],
  [3_000_000n, "$3.00"],
  [15_500_001n, "$15.500001"],
] as const)("a price of %s pico-USD a token is shown as %s a million", ([picoUsd, text]) => {
  expect(showPrice(picoUsd)).toBe(text);
});
