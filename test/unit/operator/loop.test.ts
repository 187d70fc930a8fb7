import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startLoop, type Loop } from "../../../operator/loop.ts";

let rounds: number;
let failures: { retryMs: number }[];
let work: () => Promise<number | null>;
let loop: Loop;

beforeEach(() => {
  vi.useFakeTimers();
  [rounds, failures] = [0, []];
  work = async () => null;
  loop = startLoop({
    work: () => {
      rounds++;
      return work();
    },
    clock: { nowMs: () => Date.now() },
    onFailure: ({ retryMs }) => void failures.push({ retryMs }),
  });
});
afterEach(async () => {
  await loop.stop();
  vi.useRealTimers();
});

test("many calls during one round cause one more", async () => {
  const { promise, resolve } = Promise.withResolvers<null>();
  work = () => promise;
  loop.wake();
  loop.wake();
  loop.wake();
  expect(rounds).toBe(1);
  resolve(null);
  await vi.advanceTimersByTimeAsync(1);
  expect(rounds).toBe(2);
});

test("a round runs when it is due, and at least once a minute", async () => {
  work = async () => (rounds === 1 ? Date.now() + 5_000 : null);
  loop.wake();
  await vi.advanceTimersByTimeAsync(4_999);
  expect(rounds).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(rounds).toBe(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(rounds).toBe(3);
});

test("a failed round is retried with growing delays, and a successful one resets them", async () => {
  work = async () => {
    throw new Error("the database is away");
  };
  loop.wake();
  await vi.advanceTimersByTimeAsync(500 + 1_000 + 2_000);
  expect(failures.map(({ retryMs }) => retryMs)).toEqual([500, 1_000, 2_000, 4_000]);
  expect(loop.hasSucceeded).toBe(false);
  work = async () => null;
  await vi.advanceTimersByTimeAsync(4_000);
  expect(loop.hasSucceeded).toBe(true);
});

test("after the stop nothing runs, and the running round was waited for", async () => {
  let isDone = false;
  const { promise, resolve } = Promise.withResolvers<null>();
  work = () => promise;
  loop.wake();
  const stopped = loop.stop().then(() => expect(isDone).toBe(true));
  isDone = true;
  resolve(null);
  await stopped;
  loop.wake();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(rounds).toBe(1);
});
