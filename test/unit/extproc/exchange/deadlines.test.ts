import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startDeadlines } from "../../../../extproc/exchange/deadlines.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("while a stream is not read, its silence is not its server's (S55)", () => {
  const passed = vi.fn<(time: string) => void>();
  const deadlines = startDeadlines({ timeouts: { idleMs: 1_000 }, isByAttempt: false, onPassed: passed });
  deadlines.began(true);
  deadlines.held(true);
  deadlines.heard();
  vi.advanceTimersByTime(5_000);
  expect(passed).not.toHaveBeenCalled();
  deadlines.held(false);
  vi.advanceTimersByTime(999);
  expect(passed).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(passed).toHaveBeenCalledExactlyOnceWith("silence");
  deadlines.held(true);
  deadlines.held(false);
  vi.advanceTimersByTime(5_000);
  expect(passed).toHaveBeenCalledOnce();
});
