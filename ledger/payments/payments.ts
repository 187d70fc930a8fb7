import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { knownOrOther, OTHER, type OrOther } from "../postgres/known-or-other.ts";
import { postCreditIn, type PostedCredit } from "../credit/entries.ts";
import { DAY_MS } from "../../contract/days.ts";
import { formatNanoUsd } from "../money.ts";
import { queueEvent, type EventData } from "../webhooks/events.ts";
import { lockForChange, type Actor } from "../people/actor.ts";

/** One payment through a provider: the requested amount, and its outcome (S26). */
export interface Payment {
  /** UUIDv7. */
  id: string;
  accountId: string;
  /** Such as "stripe". */
  provider: string;
  providerPaymentId: string;
  /** The provider's id of the money, if it is another one. */
  providerChargeId: string | null;
  amountNanoUsd: bigint;
  /** ISO 4217: the currency that the customer pays in. */
  currency: string;
  /** "refunded": all of it. "disputed": a dispute is open, or lost. */
  status: OrOther<"pending" | "paid" | "refunded" | "disputed" | "failed">;
  refundedNanoUsd: bigint;
  /** In disputes that are open or lost. */
  disputedNanoUsd: bigint;
  createdAt: Date;
  paidAt: Date | null;
}

export interface NewPayment {
  accountId: string;
  provider: string;
  /** The provider's id of it, which its notices contain: a checkout session's, for example. */
  providerPaymentId: string;
  /** Credited when it is paid. */
  amountNanoUsd: bigint;
  /** "USD" if absent. */
  currency?: string;
}

/** A payment as its provider names it. */
export interface PaymentName {
  provider: string;
  /** The id that it began with, or the one under which it was paid (`providerChargeId`). */
  providerPaymentId: string;
}

const COLUMNS = `id, account_id AS "accountId", provider, provider_payment_id AS "providerPaymentId", provider_charge_id AS "providerChargeId", amount_nano_usd AS "amountNanoUsd",
  currency, status, refunded_nano_usd AS "refundedNanoUsd", disputed_nano_usd AS "disputedNanoUsd", created_at AS "createdAt", paid_at AS "paidAt"`;

const paymentRow = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  provider: z.string(),
  providerPaymentId: z.string(),
  providerChargeId: z.string().nullable(),
  amountNanoUsd: z.bigint(),
  currency: z.string(),
  status: knownOrOther(["pending", "paid", "refunded", "disputed", "failed"]),
  refundedNanoUsd: z.bigint(),
  disputedNanoUsd: z.bigint(),
  createdAt: z.date(),
  paidAt: z.date().nullable(),
});

/**
 * Before a customer is sent to pay: each begun payment is a row here and a checkout at the provider. In a transaction, the account's
 * other payments wait for its end.
 * @throws GatewayError `rate_limited` when too many of the last 24 hours were not paid; `permission_denied` if the actor may not add
 * credit any more.
 */
export async function admitTopUp(database: Queryable, actor: Actor): Promise<void> {
  const { accountId } = actor;
  const most = ACCOUNT_BOUNDS.unpaidTopUpsADay;
  // One at a time: concurrent calls would all find room.
  await lockForChange(database, actor, "addCredit");
  const unpaid = await database.execute(
    `SELECT FROM payment WHERE account_id = $1 AND id > $2 AND status IN ('pending', 'failed') LIMIT $3`,
    // An id contains its time of creation.
    [accountId, uuidv7({ msecs: Date.now() - DAY_MS }), most],
  );
  if (unpaid >= most)
    throw new GatewayError(
      "rate_limited",
      `An account can have at most ${most} unpaid payments from the last 24 hours. Pay one of them, or try again later.`,
      { headers: { "retry-after": "3600" } },
    );
}

/**
 * Records a payment that a customer is about to make. Nothing is credited yet. Repeating it changes nothing.
 * @throws GatewayError `not_found` for an unknown account; `invalid_request` for an amount that is not above zero, and for a
 * provider's id that was recorded with another account, amount or currency.
 */
export async function beginPayment(database: Queryable, payment: NewPayment): Promise<Payment> {
  const { accountId, provider, providerPaymentId, amountNanoUsd, currency = "USD" } = payment;
  if (amountNanoUsd <= 0n)
    throw new GatewayError("invalid_request", "A payment needs an amount above zero.", { field: "amountNanoUsd" });
  await database.execute(
    `INSERT INTO payment (id, account_id, provider, provider_payment_id, amount_nano_usd, currency)
     SELECT $2, id, $3, $4, $5, $6 FROM account WHERE id = $1 ON CONFLICT DO NOTHING`,
    [accountId, uuidv7(), provider, providerPaymentId, amountNanoUsd, currency],
  );
  const noted = await findPayment(database, payment);
  if (noted === undefined) throw new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
  if (noted.accountId !== accountId || noted.amountNanoUsd !== amountNanoUsd || noted.currency !== currency)
    throw new GatewayError("invalid_request", "This payment was already recorded for another account or amount.", {
      field: "providerPaymentId",
    });
  return noted;
}

export interface CompletedPayment extends PaymentName {
  /** The amount that the provider reports as paid: credited only if it matches the requested one. Not compared if absent. */
  amountNanoUsd?: bigint;
  /** The id in later notices of refunds and disputes, if it differs from the earlier one. */
  providerChargeId?: string;
}

/**
 * The provider has the money: credits the account, in one transaction with the payment's state; once, however often and from
 * however many sides it is reported. Also after `failPayment`: paid amounts are credited.
 * @throws GatewayError `not_found` for a payment that was never begun; `invalid_request` for another amount.
 */
export async function completePayment(database: Database, completed: CompletedPayment): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const { id, accountId, amountNanoUsd } = await lockPayment(transaction, completed);
    if (completed.amountNanoUsd !== undefined && completed.amountNanoUsd !== amountNanoUsd)
      throw new GatewayError("invalid_request", "The amount paid differs from the amount requested.", { field: "amountNanoUsd" });
    await transaction.execute(
      `UPDATE payment SET status = CASE WHEN paid_at IS NULL THEN 'paid' ELSE status END, paid_at = coalesce(paid_at, now()),
         provider_charge_id = coalesce(provider_charge_id, $2) WHERE id = $1`,
      [id, completed.providerChargeId ?? null],
    );
    const posted = await postCreditIn(transaction, { accountId, kind: "topup", amountNanoUsd, reference: `payment:${id}` });
    if (posted.isNew) {
      const data = { ...paymentData({ id, amountNanoUsd }), balance: formatNanoUsd(posted.postedNanoUsd) };
      await queueEvent(transaction, { accountId, type: "credit.top_up_succeeded", data });
    }
    return posted;
  });
}

/** It will not be paid: it was declined, abandoned or timed out. A paid one stays paid. */
export async function failPayment(database: Database, name: PaymentName): Promise<void> {
  await database.transaction((transaction) => failPaymentIn(transaction, name));
}

/** Like `failPayment`, as part of a larger transaction. */
export async function failPaymentIn(transaction: Queryable, { provider, providerPaymentId }: PaymentName): Promise<void> {
  const [failed] = await transaction.query({
    text: `UPDATE payment SET status = 'failed' WHERE provider = $1 AND provider_payment_id = $2 AND status = 'pending'
           RETURNING id, account_id AS "accountId", amount_nano_usd AS "amountNanoUsd"`,
    values: [provider, providerPaymentId],
    row: paymentRow.pick({ id: true, accountId: true, amountNanoUsd: true }),
  });
  if (failed === undefined) return;
  await queueEvent(transaction, {
    accountId: failed.accountId,
    type: "credit.top_up_failed",
    data: paymentData(failed),
  });
}

/** Of an event about a payment. */
export function paymentData({ id, amountNanoUsd }: Pick<Payment, "id" | "amountNanoUsd">): EventData {
  return { payment_id: id, currency: "USD", amount: formatNanoUsd(amountNanoUsd) };
}

export async function findPayment(database: Queryable, name: PaymentName): Promise<Payment | undefined> {
  const [payment] = await database.query({ text: `SELECT ${COLUMNS} ${BY_NAME}`, values: valuesOf(name), row: paymentRow });
  return payment;
}

/** One of an account's by our id. */
export async function readPayment(
  database: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<Payment | undefined> {
  const [payment] = await database.query({
    text: `SELECT ${COLUMNS} FROM payment WHERE account_id = $1 AND id = $2`,
    values: [accountId, id],
    row: paymentRow,
  });
  return payment;
}

/**
 * An account's payments, newest first.
 * @param beforeId continues after the payment of this id.
 */
export async function listPayments(
  database: Queryable,
  { accountId, limit, beforeId }: { accountId: string; limit: number; beforeId?: string | undefined },
): Promise<Payment[]> {
  return database.query({
    text: `SELECT ${COLUMNS} FROM payment WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    values: [accountId, beforeId ?? null, limit],
    row: paymentRow,
  });
}

/** Only those that were paid, whatever became of them later. */
export async function listPaidPayments(
  database: Queryable,
  { accountId, limit, beforeId }: { accountId: string; limit: number; beforeId?: string | undefined },
): Promise<Payment[]> {
  return database.query({
    text: `SELECT ${COLUMNS} FROM payment WHERE account_id = $1 AND paid_at IS NOT NULL AND ($2::uuid IS NULL OR id < $2)
           ORDER BY id DESC LIMIT $3`,
    values: [accountId, beforeId ?? null, limit],
    row: paymentRow,
  });
}

/**
 * The payment, locked until the transaction ends: other notices about it wait.
 * @throws GatewayError `not_found`; `billing_unavailable` in a status of a newer version: its provider repeats the notice for days.
 */
export async function lockPayment(transaction: Queryable, name: PaymentName): Promise<Payment> {
  const [payment] = await transaction.query({
    text: `SELECT ${COLUMNS} ${BY_NAME} FOR NO KEY UPDATE`,
    values: valuesOf(name),
    row: paymentRow,
  });
  if (payment === undefined) throw new GatewayError("not_found", "There is no such payment.", { field: "providerPaymentId" });
  if (payment.status === OTHER) throw unknownStatus();
  return payment;
}

/** What a status of a newer version means for the credit is unknown: nothing is posted until that version is back. */
export function unknownStatus(): GatewayError {
  return new GatewayError("billing_unavailable", "A newer version of this service has changed this payment. Try again later.");
}

const BY_NAME = "FROM payment WHERE provider = $1 AND (provider_payment_id = $2 OR provider_charge_id = $2)";

function valuesOf({ provider, providerPaymentId }: PaymentName): string[] {
  return [provider, providerPaymentId];
}
