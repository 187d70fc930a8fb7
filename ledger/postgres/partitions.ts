import * as z from "zod";
import type { Queryable } from "./database.ts";

const createdRow = z.strictObject({ created: z.int() });

/**
 * Creates the partitions of usage_event that requests with these ids need: one for each UTC day in them.
 * @param requestIds UUIDv7.
 * @returns how many were missing.
 */
export async function createPartitionsFor(database: Queryable, requestIds: readonly string[]): Promise<number> {
  return create(database, "SELECT DISTINCT usage_day(request_id) AS day FROM unnest($1::uuid[]) AS request_id", [requestIds]);
}

/**
 * Creates the partitions of a UTC day and the following ones, so that they exist before midnight.
 * @param fromDay `YYYY-MM-DD`.
 * @returns how many were missing.
 */
export async function createPartitionsAhead(database: Queryable, fromDay: string, days: number): Promise<number> {
  return create(database, "SELECT $1::date + ahead AS day FROM generate_series(0, $2::integer - 1) AS ahead", [fromDay, days]);
}

async function create(database: Queryable, wantedDays: string, values: readonly unknown[]): Promise<number> {
  const [row] = await database.query({
    text: `SELECT (count(*) FILTER (WHERE create_usage_partition(day)))::integer AS created
           FROM (${wantedDays} ORDER BY day) AS wanted`,
    values,
    row: createdRow,
  });
  return row?.created ?? 0;
}
