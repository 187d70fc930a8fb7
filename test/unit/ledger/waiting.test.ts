import { describe, expect, test } from "vitest";
import { backOffMs } from "../../../ledger/back-off.ts";
import { createDoorbell } from "../../../ledger/doorbell.ts";

const LONG_MS = 60_000;

describe("a back-off", () => {
  const bounds = { firstMs: 100, mostMs: 5_000 };

  test("doubles up to its cap", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1000].map((attempt) => backOffMs(bounds, attempt, 0.999_999));
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  test("never falls below half of its step", () => {
    expect(backOffMs(bounds, 1, 0)).toBe(50);
    expect(backOffMs(bounds, 20, 0)).toBe(2500);
  });
});

describe("a doorbell", () => {
  const never = new AbortController().signal;

  test("wakes who waits", async () => {
    const doorbell = createDoorbell();
    const waiting = doorbell.wait(LONG_MS, never);
    doorbell.ring();
    await waiting;
  });

  test("that rang before anybody waited is heard once", async () => {
    const doorbell = createDoorbell();
    doorbell.ring();
    await doorbell.wait(LONG_MS, never);
    const startedAt = performance.now();
    await doorbell.wait(30, never);
    expect(performance.now() - startedAt).toBeGreaterThan(20);
  });

  test("lets go of who waits when the signal aborts, and of who comes later", async () => {
    const doorbell = createDoorbell();
    const stopping = new AbortController();
    const waiting = doorbell.wait(LONG_MS, stopping.signal);
    stopping.abort();
    await waiting;
    await doorbell.wait(LONG_MS, stopping.signal);
  });
});
