import { expect, test } from "vitest";
import { createAccountLoad } from "../../../../extproc/load/account-load.ts";
import { createRefusals } from "../../../../extproc/load/refusals.ts";

function setUp(maxHeld = 1_000) {
  let nowMs = 0;
  const waits: { delayMs: number; resolve: () => void }[] = [];
  let held = 0;
  const refusals = createRefusals({
    clock: { nowMs: () => nowMs },
    maxHeld,
    wait(delayMs) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waits.push({ delayMs, resolve });
      return promise;
    },
    onDelayed: () => (held += 1),
  });
  return { refusals, waits, held: () => held, pass: (ms: number) => (nowMs += ms) };
}

test("refusals are sent at once unless more than 200 come together, then 200 per second, none later than 2 s", () => {
  const { refusals, waits, held } = setUp();
  for (let index = 0; index < 200; index++) expect(refusals.hold(null)).toBeNull();
  for (let index = 0; index < 600; index++) expect(refusals.hold(null)).not.toBeNull();
  expect(held()).toBe(600);
  expect(waits.slice(0, 3).map(({ delayMs }) => delayMs)).toEqual([5, 10, 15]);
  expect(Math.max(...waits.map(({ delayMs }) => delayMs))).toBe(2_000);
});

test("a client that is refused 150 times per second never waits", () => {
  const { refusals, pass } = setUp();
  for (let index = 0; index < 1_500; index++) {
    expect(refusals.hold(null)).toBeNull();
    pass(1_000 / 150);
  }
});

test("one account's flood delays neither another account's refusals nor those of callers without an account", () => {
  const { refusals } = setUp();
  const flood = createAccountLoad();
  for (let index = 0; index < 300; index++) void refusals.hold(flood);
  expect(refusals.hold(flood)).not.toBeNull();
  expect(refusals.hold(createAccountLoad())).toBeNull();
  expect(refusals.hold(null)).toBeNull();
});

test("the number of delayed refusals is bounded; the others are sent at once", async () => {
  const { refusals, waits } = setUp(2);
  for (let index = 0; index < 200; index++) void refusals.hold(null);
  void refusals.hold(null);
  const second = refusals.hold(null);
  expect(refusals.hold(null)).toBeNull();
  for (const { resolve } of waits) resolve();
  await second;
  expect(refusals.hold(null)).not.toBeNull();
});
