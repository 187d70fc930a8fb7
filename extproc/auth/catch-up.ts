import { GatewayError } from "../../contract/errors.ts";
import type { Feed } from "../../ledger/feed/feed.ts";
import { inTime } from "../../runtime/wait.ts";
import type { Pace } from "../load/pace.ts";

/**
 * Waits until the keys in memory are as current as the database was when the wait began. All waiting requests share one read: a
 * flood of invented keys causes no more reads than a quiet minute (docs/decisions/0036).
 */
export interface CatchUp {
  /** @throws GatewayError `billing_unavailable` if the database is not read in time, or too many wait. */
  wait(): Promise<void>;
}

export interface CatchUpDeps {
  feed: Pick<Feed, "caughtUp" | "readSoon">;
  /** Monotonic. */
  clock: { nowMs(): number };
  /** How often the feed is asked to read early. */
  hurry: Pace;
  maxWaiting: number;
  withinMs?: number;
}

/** The feed reads twice a second. Envoy stops waiting for its processor after 10 s. */
const WITHIN_MS = 2_000;
/** A person who uses a new key is served at once; in a flood the feed reads only slightly more often than usual. */
export const HURRY = { perSecond: 5, burst: 10 };

export function createCatchUp({ feed, clock, hurry, maxWaiting, withinMs = WITHIN_MS }: CatchUpDeps): CatchUp {
  let waiting = 0;

  return {
    async wait() {
      if (waiting >= maxWaiting) throw cannotCheck();
      waiting += 1;
      try {
        const caughtUp = feed.caughtUp();
        if (hurry.take(clock.nowMs())) feed.readSoon();
        await inTime(caughtUp, withinMs, cannotCheck);
      } catch (error) {
        throw error instanceof GatewayError ? error : cannotCheck({ cause: error });
      } finally {
        waiting -= 1;
      }
    },
  };
}

/** This is not the caller's fault. */
export function cannotCheck(options?: { cause: unknown }): GatewayError {
  return new GatewayError("billing_unavailable", "The key cannot be checked right now. Try again shortly.", {
    headers: { "retry-after": "5" },
    ...options,
  });
}
