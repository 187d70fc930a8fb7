import * as z from "zod";
import { DAY_MS, dayOf, HOUR_MS } from "../../contract/days.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { lowestIdAt } from "./request-id-time.ts";

/** Requests of one turn's hours are read at once: a day of them at most. */
const TURN_MS = DAY_MS;
/** A request counts when it is settled, which may be after the end of its hour. */
const LATE_MS = 2 * HOUR_MS;
const KEEP_DAYS = 90;

/**
 * Adds up the next completed hours, in one process at a time. Hours before its first turn are caught up day by day, one for each
 * call.
 */
export async function addUpModelHours(database: Database, nowMs: number): Promise<void> {
  await database.transaction(async (transaction) => {
    const [progress] = await transaction.query({
      text: "SELECT until FROM model_hour_progress FOR UPDATE SKIP LOCKED",
      row: z.strictObject({ until: z.date() }),
    });
    if (progress === undefined) return;
    const thisHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
    const fromMs = Math.min(progress.until.getTime(), thisHourMs) - LATE_MS;
    const untilMs = Math.min(fromMs + LATE_MS + TURN_MS, thisHourMs);
    await transaction.execute(
      `INSERT INTO model_hour (model, hour, answered, failed)
       SELECT model, usage_hour(request_id), count(*), count(*) FILTER (WHERE outcome IN ('failed', 'truncated'))
       FROM usage_event
       WHERE day BETWEEN $1 AND $2 AND request_id >= $3 AND request_id < $4 AND outcome <> 'aborted'
       GROUP BY model, usage_hour(request_id)
       ON CONFLICT (model, hour) DO UPDATE SET answered = excluded.answered, failed = excluded.failed`,
      [dayOf(fromMs), dayOf(untilMs), lowestIdAt(fromMs), lowestIdAt(untilMs)],
    );
    await transaction.execute("UPDATE model_hour_progress SET until = $1", [new Date(untilMs)]);
    await transaction.execute("DELETE FROM model_hour WHERE hour < $1", [new Date(nowMs - KEEP_DAYS * DAY_MS)]);
  });
}

/** A model's answers on a UTC day. */
export interface ModelDay {
  model: string;
  day: string;
  answered: number;
  failed: number;
}

/**
 * Days with requests, oldest first; the current hour is missing.
 * @param model of this one alone.
 */
export async function listModelDays(
  database: Queryable,
  { fromDay, model }: { fromDay: string; model?: string },
): Promise<ModelDay[]> {
  return database.query({
    text: `SELECT model, to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, sum(answered)::int AS answered, sum(failed)::int AS failed
           FROM model_hour WHERE hour >= $1 AND ($2::text IS NULL OR model = $2) GROUP BY 1, 2 ORDER BY 2, 1`,
    values: [new Date(fromDay), model ?? null],
    row: z.strictObject({ model: z.string(), day: z.string(), answered: z.int(), failed: z.int() }),
  });
}
