import { expect, test } from "vitest";
import { createNextTurn } from "../../../../extproc/limits/next-turn.ts";

/** Turns may be caused at once this many times by a clock that stands still. */
const BURST = 5;
/** If requests wait for more limits, they cause no turn. */
const HURRIED_LIMITS = 10;
/** Requests wait for this many. */
const AWAITED_LIMITS = 50;
const WAIT_MS = 1_000_000;

function startStill() {
  const nextTurn = createNextTurn({ nowMs: () => 0 });
  return {
    /** Requests that come at once. */
    wait: (requests: number, limit = {}) => Promise.all(Array.from({ length: requests }, () => nextTurn.wait(limit, WAIT_MS))),
    take: () => nextTurn.take(async () => {}),
    /** Whether the rest between turns is over. */
    async isWanted() {
      const stopping = new AbortController();
      let isOver = false;
      const rest = nextTurn.untilWanted(WAIT_MS, stopping.signal).then(() => void (isOver ||= !stopping.signal.aborted));
      await new Promise(setImmediate);
      stopping.abort();
      await rest;
      return isOver;
    },
  };
}

test("requests that wait together cause one turn, so that others can cause the next ones at once", async () => {
  const { wait, take, isWanted } = startStill();
  for (let turn = 0; turn < BURST; turn++) {
    const waiting = wait(2 * BURST);
    expect(await isWanted()).toBe(true);
    await take();
    await waiting;
  }
  const last = wait(1);
  expect(await isWanted()).toBe(false);
  await take();
  await last;
});

test("a request that comes while a turn is taken causes another one", async () => {
  const { wait, take, isWanted } = startStill();
  const first = wait(1);
  expect(await isWanted()).toBe(true);
  const taken = take();
  const second = wait(1);
  await taken;
  await first;
  expect(await isWanted()).toBe(true);
  await take();
  await second;
});

test("while requests wait for many limits, only the ordinary turn serves them", async () => {
  const { wait, take, isWanted } = startStill();
  const first = Array.from({ length: HURRIED_LIMITS + 1 }, () => wait(1));
  expect(await isWanted()).toBe(true);
  const taken = take();
  // Before those that the turn serves have heard of it.
  const more = wait(1);
  await taken;
  await Promise.all(first);
  expect(await isWanted()).toBe(false);
  await take();
  await more;
});

test("requests wait for a bounded number of limits", async () => {
  const { wait, take } = startStill();
  const known = {};
  const waiting = [wait(1, known), ...Array.from({ length: AWAITED_LIMITS - 1 }, () => wait(1))];
  await expect(wait(1)).rejects.toThrow("many other limits");
  waiting.push(wait(1, known));
  await take();
  await Promise.all(waiting);
  const later = wait(1);
  await take();
  await later;
});
