import * as z from "zod";
import { LABEL_BOUNDS } from "../../contract/labels.ts";
import type { Database } from "../postgres/database.ts";

/** Rows per statement: an account may have millions of labels. */
const WITHIN_MS = 600_000;
/** How many days later settlements may still arrive: processes that were cut off keep them in their journals. */
const LATE_DAYS = 8;

const idRow = z.strictObject({ accountId: z.string() });
const dayRow = z.strictObject({ day: z.string() });

/** Deletes the labels of accounts that requested it, day by day. May be repeated, and run concurrently. */
export async function eraseRequestedLabels(database: Database): Promise<void> {
  const accounts = await database.query({
    text: `SELECT id AS "accountId" FROM account WHERE labels = 'erasing' ORDER BY id LIMIT 10`,
    row: idRow,
  });
  for (const { accountId } of accounts) {
    const days = await database.query({
      text: "SELECT DISTINCT day::text AS day FROM usage_by_label WHERE account_id = $1 ORDER BY day",
      values: [accountId],
      row: dayRow,
    });
    for (const { day } of days)
      await execute(database, "DELETE FROM usage_label WHERE account_id = $1 AND day = $2", [accountId, day]);
    await execute(
      database,
      "DELETE FROM end_user_budget_alert USING end_user_budget AS budget WHERE budget.id = budget_id AND account_id = $1",
      [accountId],
    );
    // The list of days shows where the other rows are, so it is deleted last.
    for (const table of ["usage_by_label_and_key", "label_value", "usage_by_label"])
      await execute(database, `DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
    await database.execute("UPDATE account SET labels = 'off' WHERE id = $1 AND labels = 'erasing'", [accountId]);
  }
}

/**
 * Deletes labels and their rollups once they are older than the retention time of usage, or than 400 days.
 * @param retentionDays of usage; null: forever.
 */
export async function dropOldLabels(database: Database, retentionDays: number | null): Promise<void> {
  const days = Math.min(retentionDays ?? Infinity, LABEL_BOUNDS.keptDays);
  const before = "(now() AT TIME ZONE 'UTC')::date - $1::integer";
  await database.query({
    text: `SELECT drop_partitions_before('usage_label', ${before}) AS dropped`,
    values: [days],
    row: z.strictObject({ dropped: z.int() }),
  });
  for (const table of ["usage_by_label", "usage_by_label_and_key"])
    await execute(database, `DELETE FROM ${table} WHERE day < ${before}`, [days]);
  await execute(database, `DELETE FROM end_user_budget_alert WHERE month < date_trunc('month', ${before})`, [days]);
  await execute(database, `DELETE FROM label_value WHERE day < ${before}`, [Math.min(days, LATE_DAYS)]);
}

async function execute(database: Database, text: string, values: readonly unknown[]): Promise<void> {
  await database.transaction((transaction) => transaction.execute(text, values), { statementTimeoutMs: WITHIN_MS });
}
