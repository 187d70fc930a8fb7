import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startAccountLoads } from "../../../../extproc/load/account-load.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("work fades, and an idle account is forgotten", () => {
  const loads = startAccountLoads();
  loads.of("a").share.workMs += 100;
  loads.of("hardly anything").share.workMs += 1;
  loads.of("b").share.workMs += 300;
  vi.advanceTimersByTime(100);
  expect(loads.workMs).toBeCloseTo(380.95);
  expect(loads.size).toBe(2);
  vi.advanceTimersByTime(30_000);
  expect(loads.workMs).toBe(0);
  expect(loads.size).toBe(0);
  loads.stop();
});

test("an account with a running request is kept, however little it does", () => {
  const loads = startAccountLoads();
  const load = loads.of("a");
  load.open = 1;
  vi.advanceTimersByTime(30_000);
  expect(loads.of("a")).toBe(load);
  loads.stop();
});

test("strangers' work fades too, and takes nothing from an account's part", () => {
  const loads = startAccountLoads();
  loads.strangers.workMs += 100;
  vi.advanceTimersByTime(100);
  expect(loads.strangers.workMs).toBeCloseTo(95);
  expect([loads.workMs, loads.size]).toEqual([0, 0]);
  loads.stop();
});
