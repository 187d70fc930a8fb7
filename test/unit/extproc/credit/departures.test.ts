import { expect, test } from "vitest";
import { createDepartures } from "../../../../extproc/credit/departures.ts";

function start() {
  let nowMs = 0;
  let isStopping = false;
  const departures = createDepartures({
    clock: { nowMs: () => nowMs },
    allowanceNanoUsd: 100n,
    isStopping: () => isStopping,
  });
  return { departures, pass: (ms: number) => void (nowMs += ms), stop: () => void (isStopping = true) };
}

test("an account may abandon prompts within its allowance, and not within another's", () => {
  const { departures } = start();
  expect(departures.forgives("a", 60n)).toBe(true);
  expect(departures.forgives("a", 60n)).toBe(false);
  expect(departures.forgives("a", 40n)).toBe(true);
  expect(departures.forgives("a", 1n)).toBe(false);
  expect(departures.forgives("b", 100n)).toBe(true);
});

test("a prompt that costs more than the whole allowance is never free", () => {
  const { departures } = start();
  expect(departures.forgives("a", 101n)).toBe(false);
  expect(departures.forgives("a", 100n)).toBe(true);
});

test("the allowance refills within an hour", () => {
  const { departures, pass } = start();
  expect(departures.forgives("a", 100n)).toBe(true);
  pass(1_800_000);
  expect(departures.forgives("a", 51n)).toBe(false);
  expect(departures.forgives("a", 50n)).toBe(true);
  pass(3_600_000);
  expect(departures.forgives("a", 100n)).toBe(true);
});

test("any number of accounts uses bounded memory", () => {
  const { departures } = start();
  for (let account = 0; account < 10_000; account++) departures.forgives(`a${account}`, 100n);
  expect(departures.forgives("a0", 1n)).toBe(false);
  departures.forgives("one more", 1n);
  expect(departures.forgives("a0", 1n)).toBe(true);
});

test("requests that the gateway cuts itself during shutdown are free", () => {
  const { departures, stop } = start();
  stop();
  expect(departures.forgives("a", 1_000_000n)).toBe(true);
});
