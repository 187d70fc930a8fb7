import * as z from "zod";
import type { Database, Queryable } from "./database.ts";

const dayRow = z.strictObject({ day: z.string() });
const createdRow = z.strictObject({ created: z.boolean() });

/**
 * Creates the partitions of usage_event that requests with these ids need: one for each UTC day in them.
 * @param requestIds UUIDv7.
 * @returns how many were missing.
 */
export async function createPartitionsFor(database: Database, requestIds: readonly string[]): Promise<number> {
  const days = "SELECT DISTINCT usage_day(request_id) AS day FROM unnest($1::uuid[]) AS request_id";
  const missing = await create(database, days, [requestIds]);
  // One that another process is just creating can be seen a moment before rows can be added to it: they can once its lock is free.
  await database.transaction((transaction) =>
    transaction.execute("LOCK TABLE ONLY usage_event, ONLY usage_label IN SHARE UPDATE EXCLUSIVE MODE"),
  );
  return missing;
}

/**
 * Creates the partitions of a UTC day and the following ones, so that they exist before midnight.
 * @param fromDay `YYYY-MM-DD`.
 * @returns how many were missing.
 */
export async function createPartitionsAhead(database: Queryable, fromDay: string, days: number): Promise<number> {
  return create(database, "SELECT $1::date + ahead AS day FROM generate_series(0, $2::integer - 1) AS ahead", [fromDay, days]);
}

/** One day with each statement: a month at once may take a busy server longer than a statement may take, and then none is there. */
async function create(database: Queryable, wantedDays: string, values: readonly unknown[]): Promise<number> {
  const days = await database.query({
    text: `SELECT day::text FROM (${wantedDays}) AS wanted ORDER BY wanted.day`,
    values,
    row: dayRow,
  });
  let missing = 0;
  for (const { day } of days) {
    const [row] = await database.query({
      text: "SELECT create_usage_partition($1::date) AS created",
      values: [day],
      row: createdRow,
    });
    if (row?.created === true) missing++;
  }
  return missing;
}
