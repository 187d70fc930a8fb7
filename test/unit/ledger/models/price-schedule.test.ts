import { expect, test } from "vitest";
import type { Price } from "../../../../ledger/money.ts";
import { encodeSchedule, priceAt, scheduleColumn, type PriceRule } from "../../../../ledger/models/price-schedule.ts";

const priced = (pico: bigint): Price => ({
  inputPicoUsd: pico,
  cachedInputPicoUsd: pico,
  cacheWritePicoUsd: pico,
  outputPicoUsd: pico,
  unitPicoUsd: 0n,
});
const at = (time: string) => Date.parse(`2027-01-31T${time}Z`);
const peak: PriceRule = { fromMs: null, daily: { fromMinute: 8 * 60, untilMinute: 18 * 60 }, price: priced(2n) };
const night: PriceRule = { fromMs: null, daily: { fromMinute: 22 * 60, untilMinute: 6 * 60 }, price: priced(3n) };
const later: PriceRule = { fromMs: at("12:00:00"), daily: null, price: priced(4n) };

test.for([
  ["a window, up to its end", [peak], "07:59:59.999", 1n],
  ["a window, up to its end", [peak], "08:00:00", 2n],
  ["a window, up to its end", [peak], "17:59:59.999", 2n],
  ["a window, up to its end", [peak], "18:00:00", 1n],
  ["a window over midnight", [night], "23:59:59", 3n],
  ["a window over midnight", [night], "00:00:00", 3n],
  ["a window over midnight", [night], "06:00:00", 1n],
  ["a date", [later], "11:59:59.999", 1n],
  ["a date", [later], "12:00:00", 4n],
  ["the last that applies", [peak, later], "12:30:00", 4n],
  ["the last that applies", [later, peak], "12:30:00", 2n],
  ["nothing", [], "12:30:00", 1n],
] as const)("the price follows %s: %s at %s", ([, schedule, time, pico]) => {
  expect(priceAt({ price: priced(1n), schedule }, at(time))).toEqual(priced(pico));
});

test("a schedule is read from its column unchanged", () => {
  const { rules, unitPrices } = encodeSchedule([peak, night, later]);
  expect(scheduleColumn.parse(JSON.parse(rules))).toEqual([peak, night, later]);
  expect(unitPrices).toBe("[]");
});
