/** A steady rate with a burst above it, tracked by when the next event is due: one number, and no timer. */
export interface Pace {
  /** Counts one event. @returns how long it should wait to keep to the rate, ms; 0 within the burst. */
  delayMs(nowMs: number): number;
  /** Counts one event if that keeps to the rate without waiting. */
  take(nowMs: number): boolean;
  /** Whether one event would keep to the rate. */
  isDue(nowMs: number): boolean;
  /** Counts past events, regardless of the rate: later ones wait for them. */
  note(nowMs: number, events: number): void;
}

export interface PaceOptions {
  perSecond: number;
  /** Events that may come at once after a quiet period. */
  burst: number;
  /** Nothing waits longer, so more may pass. */
  maxDelayMs?: number;
}

export function createPace({ perSecond, burst, maxDelayMs = Infinity }: PaceOptions): Pace {
  const intervalMs = 1000 / perSecond;
  const aheadMs = (burst - 1) * intervalMs;
  /** When an event would be due if all so far had come at the rate. */
  let dueMs = -Infinity;

  return {
    delayMs(nowMs) {
      const delayMs = Math.max(0, dueMs - aheadMs - nowMs);
      if (delayMs >= maxDelayMs) return maxDelayMs;
      dueMs = Math.max(dueMs, nowMs) + intervalMs;
      return delayMs;
    },
    take(nowMs) {
      if (dueMs - aheadMs > nowMs) return false;
      dueMs = Math.max(dueMs, nowMs) + intervalMs;
      return true;
    },
    isDue: (nowMs) => dueMs - aheadMs <= nowMs,
    note(nowMs, events) {
      dueMs = Math.max(dueMs, nowMs) + events * intervalMs;
    },
  };
}
