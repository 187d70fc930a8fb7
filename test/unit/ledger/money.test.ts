import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_USAGE, type Usage } from "../../../contract/usage.ts";
import {
  chargeNanoUsd,
  formatNanoUsd,
  parseNanoUsd,
  parsePrice,
  parsePricePerThousand,
  type Price,
} from "../../../ledger/money.ts";

const tokens = fc.nat(10_000_000);
const usages: fc.Arbitrary<Usage> = fc.record({
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  units: tokens,
});
const picoUsd = fc.bigInt(0n, 1_000_000_000n);
const prices: fc.Arbitrary<Price> = fc.record({
  inputPicoUsd: picoUsd,
  cachedInputPicoUsd: picoUsd,
  cacheWritePicoUsd: picoUsd,
  outputPicoUsd: picoUsd,
  unitPicoUsd: picoUsd,
});
/** One pico-USD per input token: the tokens are the sum before rounding. */
const ONE_PICO: Price = { inputPicoUsd: 1n, cachedInputPicoUsd: 0n, cacheWritePicoUsd: 0n, outputPicoUsd: 0n, unitPicoUsd: 0n };

describe("a price", () => {
  test.for([
    ["0.30", 300_000n],
    ["0.003", 3_000n],
    ["15", 15_000_000n],
    ["0", 0n],
    ["0.000001", 1n],
    ["0.3000000000", 300_000n],
    ["1000000.5", 1_000_000_500_000n],
  ] as const)("of %s USD per million tokens is %s pico-USD per token", ([text, picoUsd]) => {
    expect(parsePrice(text)).toBe(picoUsd);
  });

  test.for([
    "",
    " 1",
    "1 ",
    ".5",
    "5.",
    "-1",
    "-0.1",
    "+1",
    "1e3",
    "0x10",
    "1,5",
    "0.0000001",
    "NaN",
    "1_000",
    "٣",
    "9".repeat(16),
  ])("is rejected if it is written as %j", (text) => {
    expect(() => parsePrice(text)).toThrow("A price is USD per million tokens");
  });
});

test.for([
  ["2.00", 2_000_000_000n],
  ["0.000001", 1_000n],
  ["999999999.999999", 999_999_999_999_999_000n],
] as const)("%s USD per thousand searches is %s pico-USD each (S28)", ([text, picoUsd]) => {
  expect(parsePricePerThousand(text)).toBe(picoUsd);
});

describe("a charge", () => {
  test("is the sum over the classes, each at its own price", () => {
    const usage = { inputTokens: 1000, cachedInputTokens: 2000, cacheWriteTokens: 300, outputTokens: 40, reasoningTokens: 40 };
    const price = {
      inputPicoUsd: 300_000n,
      cachedInputPicoUsd: 3_000n,
      cacheWritePicoUsd: 375_000n,
      outputPicoUsd: 1_200_000n,
      unitPicoUsd: 0n,
    };
    expect(chargeNanoUsd(usage, price)).toBe(300_000n + 6_000n + 112_500n + 48_000n);
  });

  test.for([
    [499, 0n],
    [500, 0n],
    [501, 1n],
    [1499, 1n],
    [1500, 2n],
    [2500, 2n],
    [2501, 3n],
  ] as const)("of %s pico-USD is %s nano-USD: half rounds to even", ([inputTokens, nanoUsd]) => {
    expect(chargeNanoUsd({ ...NO_USAGE, inputTokens }, ONE_PICO)).toBe(nanoUsd);
  });

  test("is rounded once, not for each class", () => {
    const usage = { inputTokens: 400, cachedInputTokens: 400, cacheWriteTokens: 400, outputTokens: 400, reasoningTokens: 0 };
    const price = { inputPicoUsd: 1n, cachedInputPicoUsd: 1n, cacheWritePicoUsd: 1n, outputPicoUsd: 1n, unitPicoUsd: 0n };
    expect(chargeNanoUsd(usage, price)).toBe(2n);
  });

  test("adds units to tokens, and is rounded with them (S28)", () => {
    const price = { ...ONE_PICO, unitPicoUsd: 2_000_000_400n };
    expect(chargeNanoUsd({ ...NO_USAGE, units: 2 }, price)).toBe(4_000_001n);
    expect(chargeNanoUsd({ ...NO_USAGE, inputTokens: 701, units: 2 }, price)).toBe(4_000_002n);
    expect(chargeNanoUsd({ ...NO_USAGE, inputTokens: 1_000 }, price)).toBe(1n);
  });

  test("of a request with the account's own key is its fee, rounded once (S59)", () => {
    const price = { ...ONE_PICO, inputPicoUsd: 300_000n };
    const usage = { ...NO_USAGE, inputTokens: 1_000 };
    const charge = (requestPicoUsd: bigint, millionths: bigint) =>
      chargeNanoUsd(usage, { ...price, fee: { requestPicoUsd, millionths } });
    expect(charge(100_000_000n, 0n)).toBe(100_000n);
    expect(charge(0n, 25_000n)).toBe(7_500n);
    expect(charge(100_000_000n, 25_000n)).toBe(107_500n);
    expect(charge(0n, 1_000_000n)).toBe(chargeNanoUsd(usage, price));
    expect(charge(0n, 0n)).toBe(0n);
    // A millionth of 300,000 nano-USD, and half of a nano-USD.
    expect([charge(0n, 1n), charge(200n, 1n), charge(500n, 4n)]).toEqual([0n, 0n, 2n]);
  });

  test("is exact where floats are not", () => {
    const usage = { ...NO_USAGE, inputTokens: Number.MAX_SAFE_INTEGER };
    expect(chargeNanoUsd(usage, { ...ONE_PICO, inputPicoUsd: 1_000_001n })).toBe(
      (BigInt(Number.MAX_SAFE_INTEGER) * 1_000_001n) / 1000n + 1n,
    );
  });

  test.for([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("of %s tokens is an error", (count) => {
    expect(() => chargeNanoUsd({ ...NO_USAGE, outputTokens: count }, ONE_PICO)).toThrow(RangeError);
    expect(() => chargeNanoUsd({ ...NO_USAGE, units: count }, ONE_PICO)).toThrow(RangeError);
  });

  test("never falls when tokens are added", () => {
    fc.assert(
      fc.property(usages, usages, prices, (some, more, price) => {
        expect(chargeNanoUsd(add(some, more), price)).toBeGreaterThanOrEqual(chargeNanoUsd(some, price));
      }),
    );
  });

  test("of two requests together differs from their charges by at most one nano-USD", () => {
    fc.assert(
      fc.property(usages, usages, prices, (one, other, price) => {
        const apart = chargeNanoUsd(one, price) + chargeNanoUsd(other, price);
        const difference = chargeNanoUsd(add(one, other), price) - apart;
        expect([-1n, 0n, 1n]).toContain(difference);
      }),
    );
  });

  test("does not count reasoning tokens in addition to the output that contains them", () => {
    fc.assert(
      fc.property(usages, prices, (usage, price) => {
        expect(chargeNanoUsd({ ...usage, reasoningTokens: 0 }, price)).toBe(chargeNanoUsd(usage, price));
      }),
    );
  });
});

describe("an amount", () => {
  test.for([
    [4_998_120_000n, "4.998120000"],
    [0n, "0.000000000"],
    [1n, "0.000000001"],
    [-1n, "-0.000000001"],
    [-12_000_000_000n, "-12.000000000"],
    [9_223_372_036_854_775_807n, "9223372036.854775807"],
  ] as const)("of %s nano-USD is shown as %s", ([nanoUsd, text]) => {
    expect(formatNanoUsd(nanoUsd)).toBe(text);
  });

  test("is read back as it was shown", () => {
    fc.assert(
      fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), (nanoUsd) => {
        expect(parseNanoUsd(formatNanoUsd(nanoUsd))).toBe(nanoUsd);
      }),
    );
  });

  test("may have fewer than nine places", () => {
    expect(parseNanoUsd("5")).toBe(5_000_000_000n);
    expect(parseNanoUsd("-0.5")).toBe(-500_000_000n);
  });

  test.for(["", "5.0000000001", "$5", "1e9", "--1", "1.", "∞"])("is rejected if it is written as %j", (text) => {
    expect(() => parseNanoUsd(text)).toThrow("An amount is USD");
  });
});

function add(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    units: (one.units ?? 0) + (other.units ?? 0),
  };
}
