import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";

/** The terms that the customer agreed to. */
export interface AutoTopUpTerms {
  /** If the balance is below it, the card is charged. */
  belowNanoUsd: bigint;
  /** The amount of each charge: at least `belowNanoUsd`. */
  amountNanoUsd: bigint;
  /** Maximum charge in a UTC month. */
  monthlyNanoUsd: bigint;
}

/** Why it was disabled automatically: the card was declined, or a payment was returned to the customer. */
export type StopReason = "declined" | "returned";

export interface AutoTopUp extends AutoTopUpTerms {
  isOn: boolean;
  stoppedBecause: OrOther<StopReason> | null;
  /** Begun by the service this month, paid or not paid yet. */
  chargedNanoUsd: bigint;
  /** A charge is begun, and the provider has not reported its end. */
  isCharging: boolean;
}

/** An account's automatic charges of this month, as SQL: `auto_top_up` is in the statement. */
export const CHARGED_THIS_MONTH = `(
  SELECT coalesce(sum(payment.amount_nano_usd), 0)::bigint FROM payment JOIN auto_top_up_charge ON payment_id = payment.id
  WHERE payment.account_id = auto_top_up.account_id AND payment.status <> 'failed'
    AND payment.created_at >= date_trunc('month', now(), 'UTC'))`;

/** As SQL: `auto_top_up` is in the statement. */
export const IS_CHARGING = `coalesce(
  (SELECT payment.status = 'pending' FROM payment WHERE payment.id = auto_top_up.last_payment_id), false)`;

const stopReason = knownOrOther(["declined", "returned"]);

/** @returns undefined if it was never enabled. */
export async function readAutoTopUp(database: Queryable, accountId: string): Promise<AutoTopUp | undefined> {
  const [found] = await database.query({
    text: `SELECT is_on AS "isOn", below_nano_usd AS "belowNanoUsd", amount_nano_usd AS "amountNanoUsd",
             monthly_nano_usd AS "monthlyNanoUsd", stopped_because AS "stoppedBecause",
             ${CHARGED_THIS_MONTH} AS "chargedNanoUsd", ${IS_CHARGING} AS "isCharging"
           FROM auto_top_up WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({
      isOn: z.boolean(),
      belowNanoUsd: z.bigint(),
      amountNanoUsd: z.bigint(),
      monthlyNanoUsd: z.bigint(),
      stoppedBecause: stopReason.nullable(),
      chargedNanoUsd: z.bigint(),
      isCharging: z.boolean(),
    }),
  });
  return found;
}

/** From now on, with these terms. A charge that has begun keeps its own. */
export async function turnOnAutoTopUp(database: Queryable, accountId: string, terms: AutoTopUpTerms): Promise<void> {
  await database.execute(
    `INSERT INTO auto_top_up (account_id, is_on, below_nano_usd, amount_nano_usd, monthly_nano_usd)
     SELECT id, true, $2, $3, $4 FROM account WHERE id = $1
     ON CONFLICT (account_id) DO UPDATE SET is_on = true, below_nano_usd = excluded.below_nano_usd,
       amount_nano_usd = excluded.amount_nano_usd, monthly_nano_usd = excluded.monthly_nano_usd,
       stopped_because = NULL, is_told = true`,
    [accountId, terms.belowNanoUsd, terms.amountNanoUsd, terms.monthlyNanoUsd],
  );
}

/** Charges requested before may still be paid, and are credited then. @returns false if it was off. */
export async function turnOffAutoTopUp(database: Queryable, accountId: string): Promise<boolean> {
  const changed = await database.execute(
    `UPDATE auto_top_up SET is_on = false, stopped_because = NULL, is_told = true
     WHERE account_id = $1 AND (is_on OR stopped_because IS NOT NULL)`,
    [accountId],
  );
  return changed > 0;
}

/** It is disabled automatically: the owners are to be notified. */
export async function stopAutoTopUp(database: Queryable, accountId: string, because: StopReason): Promise<void> {
  await database.execute(
    "UPDATE auto_top_up SET is_on = false, stopped_because = $2, is_told = false WHERE account_id = $1 AND is_on",
    [accountId, because],
  );
}

export interface StoppedAutoTopUp {
  accountId: string;
  accountName: string;
  because: OrOther<StopReason>;
  /** Email addresses. */
  owners: string[];
}

/**
 * The accounts whose owners are to be notified that it was disabled automatically; each is given once, to one of several callers.
 */
export async function claimStoppedAutoTopUps(database: Queryable): Promise<StoppedAutoTopUp[]> {
  return database.query({
    text: `
      WITH stopped AS (
        UPDATE auto_top_up SET is_told = true WHERE NOT is_told RETURNING account_id, stopped_because
      )
      SELECT stopped.account_id AS "accountId", account.name AS "accountName", stopped_because AS because,
        ARRAY(
          SELECT email FROM member JOIN person ON person.id = person_id
          WHERE member.account_id = stopped.account_id AND role = 'owner' ORDER BY email
        ) AS owners
      FROM stopped JOIN account ON account.id = stopped.account_id`,
    row: z.strictObject({
      accountId: z.string(),
      accountName: z.string(),
      because: stopReason,
      owners: z.array(z.string()),
    }),
  });
}

/** The notification failed: the next caller gets the account again. */
export async function returnStoppedAutoTopUp(database: Queryable, accountId: string): Promise<void> {
  await database.execute("UPDATE auto_top_up SET is_told = false WHERE account_id = $1 AND stopped_because IS NOT NULL", [
    accountId,
  ]);
}
