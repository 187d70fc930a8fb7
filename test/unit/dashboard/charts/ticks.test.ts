import { expect, test } from "vitest";
import { tickCount, tickDollars } from "../../../../dashboard/views/usage/usage-chart.ts";

test.for([
  [[0, 0.000_05, 0.000_1], "$0 $0.00005 $0.0001"],
  [[0, 0.1, 0.2, 0.3], "$0 $0.10 $0.20 $0.30"],
  [[0, 2, 4, 6, 8], "$0 $2.00 $4.00 $6.00 $8.00"],
  [[0, 5, 10, 15], "$0 $5 $10 $15"],
  [[0, 500, 1000, 1500], "$0 $500 $1,000 $1,500"],
  [[0, 5000, 10_000, 15_000], "$0 $5K $10K $15K"],
  [[0, 500_000, 1_000_000], "$0 $500K $1M"],
] as const)("an axis of %j dollars reads %s", ([ticks, words]) => {
  expect(ticks.map((tick) => tickDollars(tick, ticks.at(-1) ?? 0)).join(" ")).toBe(words);
});

test("an axis of counts has ticks at whole numbers alone", () => {
  expect([0, 0.5, 1, 1.5, 2, 1500, 2_000_000].map(tickCount)).toEqual(["0", "", "1", "", "2", "1.5K", "2M"]);
});
