import * as z from "zod";
import { DAY_MS, dayOf, HOUR_MS } from "../../contract/days.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { lowestIdAt } from "./request-id-time.ts";

/** Requests of one turn's hours are read at once: a day of them at most. */
const TURN_MS = DAY_MS;
/** A request counts when it is settled, which may be after the end of its hour. */
const LATE_MS = 2 * HOUR_MS;
const KEEP_HOURS_DAYS = 90;

/**
 * As SQL, for each row of `usage_event`: its bin for each measure; NULL if it has none. Durations are in milliseconds, speed in
 * hundredths of a token per second, as the logs show it (dashboard/views/figures.ts).
 */
export const MEASURED = `(VALUES
    ('failed', CASE WHEN outcome IN ('failed', 'truncated') THEN 1 ELSE 0 END::smallint),
    ('duration', CASE WHEN outcome = 'complete' THEN performance_bin(duration_ms) END),
    ('first_token', performance_bin(first_token_ms)),
    ('speed', CASE WHEN outcome = 'complete' AND output_tokens >= 2 AND duration_ms - coalesce(first_token_ms, 0) >= 100
      THEN performance_bin(output_tokens * 100000.0 / (duration_ms - coalesce(first_token_ms, 0))) END)
  ) AS measured (measure, bin)`;

/** Adds up the next completed hours, in one process at a time and once an hour; missed hours day by day, one for each call. */
export async function addUpPerformance(database: Database, nowMs: number): Promise<void> {
  await database.transaction(async (transaction) => {
    const [progress] = await transaction.query({
      text: "SELECT until FROM performance_progress FOR UPDATE SKIP LOCKED",
      row: z.strictObject({ until: z.date() }),
    });
    const thisHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    if (progress === undefined || progress.until.getTime() >= thisHourMs) return;
    const fromMs = progress.until.getTime() - LATE_MS;
    const untilMs = Math.min(progress.until.getTime() + TURN_MS, thisHourMs);
    await addUpHours(transaction, fromMs, untilMs);
    await addUpDays(transaction, fromMs, untilMs);
    await transaction.execute("UPDATE performance_progress SET until = $1", [new Date(untilMs)]);
    await transaction.execute("DELETE FROM performance_by_hour WHERE hour < $1", [new Date(nowMs - KEEP_HOURS_DAYS * DAY_MS)]);
  });
}

/** Requests that the client aborted are no evidence about the model. */
async function addUpHours(transaction: Queryable, fromMs: number, untilMs: number): Promise<void> {
  await transaction.execute(
    `INSERT INTO performance_by_hour (account_id, measure, hour, key_id, model, bins, counts)
     SELECT account_id, measure, hour, key_id, model, array_agg(bin ORDER BY bin), array_agg(requests ORDER BY bin)
     FROM (
       SELECT account_id, measure, usage_hour(request_id) AS hour, key_id, model, bin, count(*)::integer AS requests
       FROM usage_event CROSS JOIN LATERAL ${MEASURED}
       WHERE day BETWEEN $1 AND $2 AND request_id >= $3 AND request_id < $4 AND outcome <> 'aborted' AND bin IS NOT NULL
       GROUP BY account_id, measure, usage_hour(request_id), key_id, model, bin
     ) AS binned
     GROUP BY account_id, measure, hour, key_id, model
     ON CONFLICT (account_id, measure, hour, key_id, model) DO UPDATE SET bins = excluded.bins, counts = excluded.counts`,
    [dayOf(fromMs), dayOf(untilMs), lowestIdAt(fromMs), lowestIdAt(untilMs)],
  );
}

/** The days that contain these hours, with all of their hours. */
async function addUpDays(transaction: Queryable, fromMs: number, untilMs: number): Promise<void> {
  const firstMs = Math.floor(fromMs / DAY_MS) * DAY_MS;
  await transaction.execute(
    `INSERT INTO performance_by_day (account_id, measure, day, key_id, model, bins, counts)
     SELECT account_id, measure, day, key_id, model, array_agg(bin ORDER BY bin), array_agg(requests ORDER BY bin)
     FROM (
       SELECT account_id, measure, (hour AT TIME ZONE 'UTC')::date AS day, key_id, model, bin, sum(requests)::integer AS requests
       FROM performance_by_hour CROSS JOIN LATERAL unnest(bins, counts) AS histogram (bin, requests)
       WHERE hour >= $1 AND hour < $2
       GROUP BY account_id, measure, (hour AT TIME ZONE 'UTC')::date, key_id, model, bin
     ) AS binned
     GROUP BY account_id, measure, day, key_id, model
     ON CONFLICT (account_id, measure, day, key_id, model) DO UPDATE SET bins = excluded.bins, counts = excluded.counts`,
    [new Date(firstMs), new Date(untilMs)],
  );
}
