import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** The default: 1 USD. */
export const USUAL_THRESHOLD_NANO_USD = 1_000_000_000n;

export interface LowBalance {
  accountId: string;
  accountName: string;
  balanceNanoUsd: bigint;
  thresholdNanoUsd: bigint;
  /** Email addresses. */
  owners: string[];
}

/** @returns null if nobody is notified. */
export async function readAlertThreshold(database: Queryable, accountId: string): Promise<bigint | null> {
  const [row] = await database.query({
    text: `SELECT threshold_nano_usd AS threshold FROM balance_alert WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({ threshold: z.bigint().nullable() }),
  });
  return row === undefined ? USUAL_THRESHOLD_NANO_USD : row.threshold;
}

/** @param thresholdNanoUsd null: nobody is notified. */
export async function setAlertThreshold(database: Queryable, accountId: string, thresholdNanoUsd: bigint | null): Promise<void> {
  // A threshold above the balance is set knowingly: it applies from the next fall on.
  await database.execute(
    `INSERT INTO balance_alert (account_id, threshold_nano_usd, is_told)
     SELECT account_id, $2::bigint, posted_nano_usd < coalesce($2::bigint, 0) FROM account_balance WHERE account_id = $1
     ON CONFLICT (account_id) DO UPDATE SET threshold_nano_usd = excluded.threshold_nano_usd, is_told = excluded.is_told`,
    [accountId, thresholdNanoUsd],
  );
}

/**
 * The accounts whose balance fell below their threshold since the last call; each is given once for a fall, to one of several
 * callers. An account that never had that much is ignored.
 */
export async function claimLowBalances(database: Queryable): Promise<LowBalance[]> {
  await database.execute(
    `INSERT INTO balance_alert (account_id) SELECT account_id FROM account_balance WHERE posted_nano_usd >= $1
     ON CONFLICT DO NOTHING`,
    [USUAL_THRESHOLD_NANO_USD],
  );
  await database.execute(
    `UPDATE balance_alert SET is_told = false FROM account_balance
     WHERE is_told AND account_balance.account_id = balance_alert.account_id AND posted_nano_usd >= threshold_nano_usd`,
  );
  return database.query({
    text: `
      WITH fallen AS (
        UPDATE balance_alert SET is_told = true FROM account_balance
        WHERE NOT is_told AND account_balance.account_id = balance_alert.account_id AND posted_nano_usd < threshold_nano_usd
        RETURNING balance_alert.account_id, posted_nano_usd, threshold_nano_usd
      )
      SELECT fallen.account_id AS "accountId", account.name AS "accountName", posted_nano_usd AS "balanceNanoUsd",
        threshold_nano_usd AS "thresholdNanoUsd",
        ARRAY(
          SELECT email FROM member JOIN person ON person.id = person_id
          WHERE member.account_id = fallen.account_id AND role = 'owner' ORDER BY email
        ) AS owners
      FROM fallen JOIN account ON account.id = fallen.account_id`,
    row: z.strictObject({
      accountId: z.string(),
      accountName: z.string(),
      balanceNanoUsd: z.bigint(),
      thresholdNanoUsd: z.bigint(),
      owners: z.array(z.string()),
    }),
  });
}

/** The notification failed: the next caller gets the account again. */
export async function returnLowBalance(database: Queryable, accountId: string): Promise<void> {
  await database.execute("UPDATE balance_alert SET is_told = false WHERE account_id = $1", [accountId]);
}
