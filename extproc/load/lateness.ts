/** How far this process is behind: the time by which its timers come late, smoothed so that one pause counts little. */
export interface Lateness {
  readonly meanMs: number;
  stop(): void;
}

const EVERY_MS = 50;
/** Weight of the newest reading. */
const NEWEST = 0.2;

/** @param clock monotonic, ms. */
export function startLateness({ nowMs }: { nowMs(): number }): Lateness {
  let meanMs = 0;
  let expectedMs = nowMs() + EVERY_MS;
  const timer = setInterval(() => {
    const lateMs = Math.max(0, nowMs() - expectedMs);
    meanMs += NEWEST * (lateMs - meanMs);
    expectedMs = nowMs() + EVERY_MS;
  }, EVERY_MS).unref();
  return {
    get meanMs() {
      return meanMs;
    },
    stop: () => clearInterval(timer),
  };
}
