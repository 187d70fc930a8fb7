import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { CHARGED_THIS_MONTH, IS_CHARGING, stopAutoTopUp } from "./auto-top-up.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { beginPayment, failPaymentIn, lockPayment, type PaymentName } from "./payments.ts";

/** A charge of a saved card to be requested from the provider. */
export interface AutoTopUpCharge {
  accountId: string;
  /** Our id of the payment: the provider's idempotency key, so that repeating the request charges once. */
  chargeId: string;
  amountNanoUsd: bigint;
  customerId: string;
  cardId: string;
  createdAt: Date;
  /** Was the provider asked before? Its answer is unknown. */
  isTried: boolean;
  /** Does the customer still want it: enabled, with this card, and with a balance that is still below the threshold? */
  isDue: boolean;
}

/** No concurrent requests for one charge: longer than an answer takes. */
const ASK_AGAIN_AFTER = "2 minutes";

const DUE = `FROM auto_top_up JOIN account ON account.id = auto_top_up.account_id
  JOIN account_balance ON account_balance.account_id = auto_top_up.account_id
  JOIN saved_card ON saved_card.account_id = auto_top_up.account_id AND saved_card.provider = $1 AND removed_at IS NULL
  WHERE is_on AND account.status = 'active' AND posted_nano_usd < below_nano_usd AND NOT ${IS_CHARGING}
    AND ${CHARGED_THIS_MONTH} + amount_nano_usd <= monthly_nano_usd`;

/** As SQL: `charge` and its `payment` are in the statement. Terms, balance and card may have changed since it was begun. */
const IS_STILL_DUE = `EXISTS (
  SELECT FROM auto_top_up AS wanted JOIN account ON account.id = wanted.account_id
  JOIN account_balance ON account_balance.account_id = wanted.account_id
  JOIN saved_card ON saved_card.account_id = wanted.account_id AND removed_at IS NULL
  WHERE wanted.account_id = payment.account_id AND is_on AND account.status = 'active' AND posted_nano_usd < below_nano_usd
    AND wanted.amount_nano_usd = payment.amount_nano_usd AND saved_card.provider = payment.provider
    AND saved_card.provider_card_id = charge.provider_card_id)`;

/** Accounts whose card is to be charged. */
export async function listDueAutoTopUps(database: Queryable, provider: string): Promise<string[]> {
  const due = await database.query({
    text: `SELECT auto_top_up.account_id AS "accountId" ${DUE}`,
    values: [provider],
    row: z.strictObject({ accountId: z.string() }),
  });
  return due.map(({ accountId }) => accountId);
}

/**
 * Begins a payment for an account that is due: the payment and the charge are stored before the provider is asked.
 * @returns whether it did: of several that try, one succeeds.
 */
export async function beginAutoTopUp(
  database: Database,
  { accountId, provider }: { accountId: string; provider: string },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    // Alone first, and only then a check of the balance: a statement that waits for a row sees the other tables as they were
    // before it waited, and would see the low balance from before the charge that it waited for.
    await transaction.execute("UPDATE auto_top_up SET is_on = is_on WHERE account_id = $1", [accountId]);
    const [due] = await transaction.query({
      text: `SELECT amount_nano_usd AS "amountNanoUsd", provider_customer_id AS "customerId", provider_card_id AS "cardId"
             ${DUE} AND auto_top_up.account_id = $2`,
      values: [provider, accountId],
      row: z.strictObject({ amountNanoUsd: z.bigint(), customerId: z.string(), cardId: z.string() }),
    });
    if (due === undefined) return false;
    const { amountNanoUsd, customerId, cardId } = due;
    const providerPaymentId = `auto_${uuidv7()}`;
    const { id } = await beginPayment(transaction, { accountId, provider, providerPaymentId, amountNanoUsd });
    await transaction.execute(
      "INSERT INTO auto_top_up_charge (payment_id, provider_customer_id, provider_card_id) VALUES ($1, $2, $3)",
      [id, customerId, cardId],
    );
    await transaction.execute("UPDATE auto_top_up SET last_payment_id = $2 WHERE account_id = $1", [accountId, id]);
    return true;
  });
}

/**
 * A charge that the provider has not answered yet, new or abandoned midway; given to one of several callers.
 * @returns undefined if there is none, or none yet.
 */
export async function takeUnansweredCharge(database: Queryable, provider: string): Promise<AutoTopUpCharge | undefined> {
  const [charge] = await database.query({
    text: `
      WITH next AS (
        SELECT charge.payment_id, payment.account_id, provider_payment_id, payment.amount_nano_usd, payment.created_at,
          tried_at IS NOT NULL AS is_tried, ${IS_STILL_DUE} AS is_due
        FROM auto_top_up_charge AS charge JOIN payment ON payment.id = charge.payment_id
        JOIN auto_top_up ON last_payment_id = charge.payment_id
        WHERE answered_at IS NULL AND payment.status = 'pending' AND provider = $1 AND (tried_at IS NULL OR tried_at < now() - interval '${ASK_AGAIN_AFTER}')
        ORDER BY charge.payment_id LIMIT 1 FOR UPDATE OF charge SKIP LOCKED
      )
      UPDATE auto_top_up_charge AS charge SET tried_at = now() FROM next WHERE charge.payment_id = next.payment_id
      RETURNING account_id AS "accountId", provider_payment_id AS "chargeId", amount_nano_usd AS "amountNanoUsd",
        provider_customer_id AS "customerId", provider_card_id AS "cardId", created_at AS "createdAt",
        is_tried AS "isTried", is_due AS "isDue"`,
    values: [provider],
    row: z.strictObject({
      accountId: z.string(),
      chargeId: z.string(),
      amountNanoUsd: z.bigint(),
      customerId: z.string(),
      cardId: z.string(),
      createdAt: z.date(),
      isTried: z.boolean(),
      isDue: z.boolean(),
    }),
  });
  return charge;
}

/** The provider has accepted it. */
export async function noteAnsweredCharge(database: Queryable, name: PaymentName): Promise<void> {
  await database.execute(
    `UPDATE auto_top_up_charge SET answered_at = now() FROM payment
     WHERE payment.id = payment_id AND provider = $1 AND provider_payment_id = $2`,
    [name.provider, name.providerPaymentId],
  );
}

/**
 * Charges that the provider accepted and has not reported on for an hour: some of its notices are lost. Each is given once an
 * hour, to one of several callers.
 */
export async function claimSilentCharges(database: Queryable, provider: string): Promise<string[]> {
  const silent = await database.query({
    text: `
      UPDATE auto_top_up_charge SET tried_at = now() FROM payment
      WHERE payment.id = payment_id AND payment.status = 'pending' AND provider = $1
        AND answered_at < now() - interval '1 hour' AND tried_at < now() - interval '1 hour'
      RETURNING provider_payment_id AS "chargeId"`,
    values: [provider],
    row: z.strictObject({ chargeId: z.string() }),
  });
  return silent.map(({ chargeId }) => chargeId);
}

/**
 * The card was declined: the payment failed, and no other is begun until somebody enables it again. Not for one that is already
 * paid or failed.
 * @throws GatewayError `not_found` for a payment that was never begun.
 */
export async function declineCharge(database: Database, name: PaymentName): Promise<void> {
  await database.transaction(async (transaction) => {
    const { accountId, status } = await lockPayment(transaction, name);
    if (status !== "pending") return;
    await failPaymentIn(transaction, name);
    await stopAutoTopUp(transaction, accountId, "declined");
  });
}
