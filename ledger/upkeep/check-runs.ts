import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { checkLedger, storedDifference, storeDifferences, type StoredDifference } from "./check.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** A check of the ledger that somebody requested, or a nightly one. */
export interface CheckResult {
  startedAt: Date;
  /** null: it is running. */
  endedAt: Date | null;
  isFailed: boolean;
  /** How many numbers differ; null until it is known. */
  differences: number | null;
  /** The first of them. */
  found: StoredDifference[];
}

/** One whose process died no longer blocks others after this time. */
const LOST_AFTER = "interval '1 hour'";

/** @returns its id; undefined while another one is running. */
export async function beginCheckRun(database: Database, askedBy: string): Promise<string | undefined> {
  return database.transaction(async (transaction) => {
    // Of two concurrent requests, the second one sees the first one's row.
    await transaction.execute("LOCK TABLE ledger_check_run IN SHARE ROW EXCLUSIVE MODE");
    const id = uuidv7();
    const begun = await transaction.execute(
      `INSERT INTO ledger_check_run (id, asked_by) SELECT $1, $2 WHERE NOT EXISTS
         (SELECT FROM ledger_check_run WHERE ended_at IS NULL AND started_at > now() - ${LOST_AFTER})`,
      [id, askedBy],
    );
    return begun === 1 ? id : undefined;
  });
}

/**
 * Adds everything up, and stores the differences with the run. @throws what `checkLedger` does; the run is then stored as failed.
 */
export async function finishCheckRun(database: Database, id: string): Promise<void> {
  try {
    const differences = await checkLedger(database);
    await database.execute("UPDATE ledger_check_run SET ended_at = now(), differences = $2, found = $3 WHERE id = $1", [
      id,
      differences.length,
      JSON.stringify(storeDifferences(differences)),
    ]);
  } catch (error) {
    await database.execute("UPDATE ledger_check_run SET ended_at = now(), is_failed = true WHERE id = $1", [id]);
    throw error;
  }
}

const resultRow = z.strictObject({
  startedAt: z.date(),
  endedAt: z.date().nullable(),
  isFailed: z.boolean(),
  differences: z.int().nullable(),
  found: z.array(storedDifference),
});

/** The last requested check; one that was lost with its process counts as failed. */
export async function readLastCheckRun(database: Queryable): Promise<CheckResult | undefined> {
  const [last] = await database.query({
    text: `SELECT started_at AS "startedAt", coalesce(ended_at, CASE WHEN started_at <= now() - ${LOST_AFTER} THEN started_at END) AS "endedAt",
             is_failed OR (ended_at IS NULL AND started_at <= now() - ${LOST_AFTER}) AS "isFailed", differences,
             coalesce(found, '[]') AS found
           FROM ledger_check_run ORDER BY id DESC LIMIT 1`,
    row: resultRow,
  });
  return last;
}

/** The last nightly check that completed. */
export async function readLastNightlyCheck(database: Queryable): Promise<CheckResult | undefined> {
  const [last] = await database.query({
    text: `SELECT started_at AS "startedAt", ended_at AS "endedAt", false AS "isFailed", differences, coalesce(found, '[]') AS found
           FROM ledger_check WHERE ended_at IS NOT NULL ORDER BY day DESC LIMIT 1`,
    row: resultRow,
  });
  return last;
}
