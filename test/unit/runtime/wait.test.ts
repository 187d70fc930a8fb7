import { describe, expect, onTestFinished, test, vi } from "vitest";
import { backOffMs, createWakeUp, inTime } from "../../../runtime/wait.ts";

const LONG_MS = 60_000;

describe("a back-off", () => {
  const bounds = { firstMs: 100, maxMs: 5_000 };

  test("doubles up to its cap", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((attempt) => backOffMs(bounds, attempt, 0.999_999));
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  test("never falls below half of its step", () => {
    expect(backOffMs(bounds, 1, 0)).toBe(50);
    expect(backOffMs(bounds, 20, 0)).toBe(2500);
  });
});

describe("a wake-up", () => {
  const never = new AbortController().signal;

  test("wakes the waiting caller", async () => {
    const wakeUp = createWakeUp();
    const waiting = wakeUp.wait(LONG_MS, never);
    wakeUp.wake();
    await waiting;
  });

  test("that came before anyone waited is noticed once", async () => {
    const wakeUp = createWakeUp();
    wakeUp.wake();
    await wakeUp.wait(LONG_MS, never);
    const startedAt = performance.now();
    await wakeUp.wait(30, never);
    expect(performance.now() - startedAt).toBeGreaterThan(20);
  });

  test("releases the waiting caller when the signal aborts, and later ones", async () => {
    const wakeUp = createWakeUp();
    const stopping = new AbortController();
    const waiting = wakeUp.wait(LONG_MS, stopping.signal);
    stopping.abort();
    await waiting;
    await wakeUp.wait(LONG_MS, stopping.signal);
  });
});

test("work that is done in time has its outcome, and leaves no timer", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const late = () => new Error("late");
  expect(await inTime(Promise.resolve(1), 1_000, late)).toBe(1);
  await expect(inTime(Promise.reject(new Error("failed")), 1_000, late)).rejects.toThrow("failed");
  expect(vi.getTimerCount()).toBe(0);
});

test("work that is not done in time is late", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const never = new Promise<never>(() => {});
  await Promise.all([
    expect(inTime(never, 1_000, () => new Error("late"))).rejects.toThrow("late"),
    vi.advanceTimersByTimeAsync(1_000),
  ]);
});
