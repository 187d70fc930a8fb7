import * as z from "zod";
import { MONOTONIC } from "../../runtime/clock.ts";
import type { Database } from "../postgres/database.ts";
import { IS_OPEN, reapLeases } from "./leases.ts";

/** Ends the leases of all holders that no longer exist. */
export interface Reaper {
  reap(): Promise<void>;
}

export interface ReaperDeps {
  database: Database;
  ttlMs: number;
  clock?: { nowMs(): number };
}

/** How long after the deadline a holder may still renew. */
const GRACE_MS = 10_000;
/** A deadline can be this many validities away: while the validity is being changed, processes differ in it. */
const MAX_TERMS = 10;
/** Postgres' clock was set if it differs by more from what passed here; a slow answer looks the same. */
const SET_BY_MS = 5_000;

/**
 * Deadlines are by Postgres' clock, which may be another machine's after a failover. If it is suddenly ahead, all leases seem to have
 * expired, while their holders still spend them: nothing is reaped until they have had time to renew. If it is suddenly behind,
 * leases of ended processes would last for as long as it was ahead: deadlines that are much too late are brought forward.
 */
export function createReaper({ database, ttlMs, clock = MONOTONIC }: ReaperDeps): Reaper {
  // Holders renew when a third of the time has passed.
  const renewedWithinMs = ttlMs / 2;
  let steadySinceMs = clock.nowMs();
  let aheadMs: number | undefined;

  /** @returns the time by Postgres' clock. */
  async function watchClock(): Promise<number> {
    const [row] = await database.query({ ...SHORTEN, values: [ttlMs * MAX_TERMS], row: nowRow });
    if (row === undefined) throw new Error("Postgres did not say what time it is.");
    const nowMs = clock.nowMs();
    const postgresMs = Number(row.nowMs);
    const now = postgresMs - nowMs;
    if (aheadMs !== undefined && Math.abs(now - aheadMs) > SET_BY_MS) steadySinceMs = nowMs;
    aheadMs = now;
    return postgresMs;
  }

  return {
    async reap() {
      const postgresMs = await watchClock();
      // By the time that was checked: the clock may be set before the next statement.
      if (clock.nowMs() - steadySinceMs >= renewedWithinMs)
        await reapLeases(database, { before: new Date(postgresMs - GRACE_MS) });
    },
  };
}

const nowRow = z.strictObject({ nowMs: z.bigint() });

const SHORTEN = {
  name: "lease-shorten",
  text: `WITH shortened AS (
      UPDATE credit_lease SET expires_at = clock_timestamp() + $1 * interval '1 millisecond'
      WHERE lease_id IN (
        SELECT lease_id FROM credit_lease WHERE ended_at IS NULL AND expires_at > clock_timestamp() + $1 * interval '1 millisecond'
        FOR UPDATE SKIP LOCKED
      ) AND ${IS_OPEN}
    )
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs"`,
};
