import { expect, test } from "vitest";
import { daysLeft } from "../../../../dashboard/usage/days-left.ts";

const USD = 1_000_000_000n;

test.for([
  ["a steady use", 10n * USD, 7n * USD, 10],
  ["a part of a day does not count", 10n * USD, 8n * USD, 8],
  ["the last hours", 1n, 100n, 0],
  ["hardly any use", 1_000_000n * USD, 1n, 999],
] as const)("$0: that many whole days", ([, balance, week, days]) => {
  expect(daysLeft(balance, week)).toBe(days);
});

test("without use, or without credit, there is no forecast", () => {
  expect(daysLeft(10n * USD, 0n)).toBeUndefined();
  expect(daysLeft(0n, USD)).toBeUndefined();
  expect(daysLeft(-1n, USD)).toBeUndefined();
});
