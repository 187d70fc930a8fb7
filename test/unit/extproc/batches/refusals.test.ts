import { expect, test } from "vitest";
import { createRefusals } from "../../../../extproc/batches/refusals.ts";

/** How long a batch waits whose requests are refused for now (S58, docs/batches.md). */
function start() {
  const clock = { ms: 0 };
  const refusals = createRefusals({ nowMs: () => clock.ms, random: () => 0.999_999 });
  const refuse = (number: number, { minMs = 2_000, batchId = "one" } = {}) => refusals.add({ batchId, number }, minMs);
  return { clock, refusals, refuse };
}

test("a batch that gets no answers waits longer each time, a minute at most, until it gets one (S58)", () => {
  const { clock, refusals, refuse } = start();
  const waits = Array.from({ length: 8 }, () => {
    const delayMs = refuse(1);
    clock.ms += delayMs;
    return delayMs;
  });
  expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  refusals.answered("two");
  expect(refuse(1)).toBe(60_000);
  clock.ms += 60_000;
  refusals.answered("one");
  expect(refuse(1)).toBe(2_000);
});

test("requests that were in flight together are refused once, and the last of them is known (S58)", () => {
  const { clock, refusals, refuse } = start();
  expect([refuse(1), refuse(2), refuse(4), refuse(3)]).toEqual([2_000, 2_000, 2_000, 2_000]);
  expect(refusals.last.get("one")).toBe(3);
  clock.ms += 2_000;
  expect([refuse(5), refuse(6)]).toEqual([4_000, 4_000]);
  expect(refuse(1, { batchId: "two" })).toBe(2_000);
});

test("a batch never waits less than the answer says (S58)", () => {
  const { clock, refuse } = start();
  expect(refuse(1, { minMs: 30_000 })).toBe(30_000);
  clock.ms += 30_000;
  expect(refuse(1, { minMs: 1_000 })).toBe(4_000);
});

test("of very many batches, those that were refused last are known", () => {
  const { refusals, refuse } = start();
  for (let number = 0; number <= 1_000; number++) refuse(number, { batchId: `batch-${number}` });
  expect([refusals.last.size, refusals.last.has("batch-0"), refusals.last.has("batch-1000")]).toEqual([1_000, false, true]);
});
