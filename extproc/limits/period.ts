import { DAY_MS } from "../../contract/days.ts";
import type { Limit } from "../../contract/limits.ts";

export const MINUTE_MS = 60_000;
/** Running requests have no period; another may begin when one has ended. */
const CONCURRENT_RESET_MS = 1_000;

/** Unix ms, UTC; 0 without a period. */
export function startOf(period: Limit["period"], nowMs: number): number {
  switch (period) {
    case "minute":
      return nowMs - (nowMs % MINUTE_MS);
    case "day":
      return nowMs - (nowMs % DAY_MS);
    case "month": {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
    }
    case null:
      return 0;
  }
}

export function endOf(period: Limit["period"], nowMs: number): number {
  switch (period) {
    case "minute":
      return startOf(period, nowMs) + MINUTE_MS;
    case "day":
      return startOf(period, nowMs) + DAY_MS;
    case "month": {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    }
    case null:
      return nowMs + CONCURRENT_RESET_MS;
  }
}
