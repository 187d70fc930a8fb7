import * as z from "zod";
import { LABEL_BOUNDS } from "../../contract/labels.ts";
import type { Database } from "../postgres/database.ts";

/** Of one statement: an account may have millions of labels. */
const WITHIN_MS = 600_000;
/** Settlements of a day may come for so many days after it: processes that were cut off keep them in their journals. */
const LATE_DAYS = 8;

const idRow = z.strictObject({ accountId: z.string() });
const dayRow = z.strictObject({ day: z.string() });

/** Deletes the labels of accounts that asked for it, of one day after the other. Its work may be repeated, and shared. */
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
    // The days that are there say where the others are: they go last.
    for (const table of ["usage_by_label_and_key", "label_value", "usage_by_label"])
      await execute(database, `DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
    await database.execute("UPDATE account SET labels = 'off' WHERE id = $1 AND labels = 'erasing'", [accountId]);
  }
}

/**
 * Deletes labels and what was added up by them as soon as they are older than usage is kept, or than 400 days.
 * @param retentionDays of usage; null: for ever.
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
  await execute(database, `DELETE FROM label_value WHERE day < ${before}`, [Math.min(days, LATE_DAYS)]);
}

async function execute(database: Database, text: string, values: readonly unknown[]): Promise<void> {
  await database.transaction((transaction) => transaction.execute(text, values), { statementTimeoutMs: WITHIN_MS });
}
