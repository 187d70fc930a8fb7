import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { stopAutoTopUp } from "./auto-top-up.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { knownOrOther, OTHER } from "../postgres/known-or-other.ts";
import { postCreditIn, type PostedCredit } from "../credit/entries.ts";
import { formatNanoUsd, smallest } from "../money.ts";
import { queueEvent } from "../webhooks/events.ts";
import { lockPayment, paymentData, unknownStatus, type Payment, type PaymentName } from "./payments.ts";

/**
 * Reversed payments: credit that the provider returned, or lost in a dispute, is deducted. A balance may fall below zero by it:
 * the customer then owes the part that was already used.
 */

export interface PaymentRefund extends PaymentName {
  /** The provider's id of this refund: it counts once. */
  refundId: string;
  /** The payment's remainder if absent. */
  amountNanoUsd?: bigint;
}

/**
 * Deducts the credit of a payment, or a part of it, that the provider returned to the customer.
 * @throws GatewayError `not_found` for an unknown payment; `invalid_request` for one that was not paid, and for more than its
 * remainder.
 */
export async function refundPayment(database: Database, refund: PaymentRefund): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const payment = await lockPaid(transaction, refund);
    const reference = `payment:${payment.id}:refund:${refund.refundId}`;
    const [posted] = await transaction.query({
      text: `SELECT -amount_nano_usd AS "amountNanoUsd" FROM ledger_entry WHERE reference = $1`,
      values: [reference],
      row: amountRow,
    });
    const amountNanoUsd = refund.amountNanoUsd ?? posted?.amountNanoUsd ?? leftOf(payment);
    if (posted === undefined) {
      checkLeft(payment, amountNanoUsd);
      await transaction.execute("UPDATE payment SET refunded_nano_usd = refunded_nano_usd + $2 WHERE id = $1", [
        payment.id,
        amountNanoUsd,
      ]);
      await markStatus(transaction, payment.id);
      // The balance falls by it: an amount returned to the customer must not be charged again.
      await stopAutoTopUp(transaction, payment.accountId, "returned");
    }
    const { accountId } = payment;
    const refunded = await postCreditIn(transaction, {
      accountId,
      kind: "payment_refund",
      amountNanoUsd: -amountNanoUsd,
      reference,
    });
    if (refunded.isNew) {
      const data = { ...paymentData({ ...payment, amountNanoUsd }), balance: formatNanoUsd(refunded.postedNanoUsd) };
      await queueEvent(transaction, { accountId, type: "credit.payment_refunded", data });
    }
    return refunded;
  });
}

/**
 * The money of a refund has come back to the provider: a customer's bank does not take every one. Its credit is restored, once; a
 * refund that was never posted changes nothing.
 * @throws GatewayError as `refundPayment`.
 */
export async function restoreRefund(
  database: Database,
  { refundId, ...name }: Pick<PaymentRefund, "refundId"> & PaymentName,
): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const { id, accountId } = await lockPaid(transaction, name);
    const reference = `payment:${id}:refund:${refundId}`;
    const [refund] = await transaction.query({
      text: `SELECT -amount_nano_usd AS "amountNanoUsd" FROM ledger_entry WHERE reference = $1`,
      values: [reference],
      row: amountRow,
    });
    if (refund === undefined) return { isNew: false, postedNanoUsd: await readPosted(transaction, accountId) };
    const { amountNanoUsd } = refund;
    const note = "A refund failed: its money came back.";
    const restored = await postCreditIn(transaction, {
      accountId,
      kind: "topup",
      amountNanoUsd,
      reference: `${reference}:failed`,
      note,
    });
    if (!restored.isNew) return restored;
    await transaction.execute("UPDATE payment SET refunded_nano_usd = refunded_nano_usd - $2 WHERE id = $1", [id, amountNanoUsd]);
    await markStatus(transaction, id);
    return restored;
  });
}

export interface PaymentDispute extends PaymentName {
  /** The provider's id of this dispute. */
  disputeId: string;
  /** "open" and "lost": the provider withholds the money. "won": it is ours again. */
  status: "open" | "won" | "lost";
  /**
   * The payment's remainder if absent, and at most that: banks also dispute what was refunded before. From the first notice of a
   * dispute.
   */
  amountNanoUsd?: bigint;
}

/**
 * Records the state of a dispute. While it is open, and when it is lost, its credit is deducted; when it is won, it is restored.
 * Notices may arrive twice and in any order: the first "won" or "lost" is final.
 * @returns the balance; isNew: whether credit moved.
 * @throws GatewayError `not_found` for an unknown payment; `invalid_request` for one that was not paid.
 */
export async function disputePayment(database: Database, dispute: PaymentDispute): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const payment = await lockPaid(transaction, dispute);
    const known = await findDispute(transaction, payment.id, dispute.disputeId);
    const restNanoUsd = leftOf(payment);
    const amountNanoUsd = known?.amountNanoUsd ?? smallest(dispute.amountNanoUsd ?? restNanoUsd, restNanoUsd);
    const { accountId } = payment;
    // Refunded, or taken by another dispute, which may give it back: a later notice of this one finds it then.
    if (known === undefined && restNanoUsd === 0n)
      return { isNew: false, postedNanoUsd: await readPosted(transaction, accountId) };
    if (known === undefined) checkLeft(payment, amountNanoUsd);
    const status = known === undefined || known.status === "open" ? dispute.status : known.status;
    const wasTaken = known !== undefined && known.status !== "won";
    const isTaken = status !== "won";
    await transaction.execute(
      `INSERT INTO payment_dispute (payment_id, provider_dispute_id, amount_nano_usd, status) VALUES ($1, $2, $3, $4)
       ON CONFLICT (payment_id, provider_dispute_id) DO UPDATE SET status = excluded.status`,
      [payment.id, dispute.disputeId, amountNanoUsd, status],
    );
    const moved = (isTaken ? amountNanoUsd : 0n) - (wasTaken ? amountNanoUsd : 0n);
    await transaction.execute("UPDATE payment SET disputed_nano_usd = disputed_nano_usd + $2 WHERE id = $1", [payment.id, moved]);
    await markStatus(transaction, payment.id);
    const reference = `payment:${payment.id}:dispute:${dispute.disputeId}`;
    if (moved > 0n) await stopAutoTopUp(transaction, accountId, "returned");
    if (moved > 0n) return postCreditIn(transaction, { accountId, kind: "dispute", amountNanoUsd: -moved, reference });
    if (moved < 0n)
      return postCreditIn(transaction, { accountId, kind: "dispute", amountNanoUsd: -moved, reference: `${reference}:won` });
    return { isNew: false, postedNanoUsd: await readPosted(transaction, accountId) };
  });
}

const amountRow = z.strictObject({ amountNanoUsd: z.bigint() });
const disputeRow = z.strictObject({ amountNanoUsd: z.bigint(), status: knownOrOther(["open", "won", "lost"]) });

async function findDispute(
  transaction: Queryable,
  paymentId: string,
  disputeId: string,
): Promise<{ amountNanoUsd: bigint; status: PaymentDispute["status"] } | undefined> {
  const [dispute] = await transaction.query({
    text: `SELECT amount_nano_usd AS "amountNanoUsd", status FROM payment_dispute WHERE payment_id = $1 AND provider_dispute_id = $2`,
    values: [paymentId, disputeId],
    row: disputeRow,
  });
  if (dispute === undefined) return undefined;
  const { amountNanoUsd, status } = dispute;
  if (status === OTHER) throw unknownStatus();
  return { amountNanoUsd, status };
}

async function lockPaid(transaction: Queryable, name: PaymentName): Promise<Payment> {
  const payment = await lockPayment(transaction, name);
  if (payment.paidAt === null)
    throw new GatewayError("invalid_request", "This payment was not completed, so nothing of it can be refunded.", {
      field: "providerPaymentId",
    });
  return payment;
}

function leftOf({ amountNanoUsd, refundedNanoUsd, disputedNanoUsd }: Payment): bigint {
  return amountNanoUsd - refundedNanoUsd - disputedNanoUsd;
}

function checkLeft(payment: Payment, amountNanoUsd: bigint): void {
  if (amountNanoUsd > 0n && amountNanoUsd <= leftOf(payment)) return;
  throw new GatewayError("invalid_request", "A refund must be above zero, and at most the rest of the payment.", {
    field: "amountNanoUsd",
  });
}

/** A dispute takes precedence over a refund: it needs attention. */
async function markStatus(transaction: Queryable, paymentId: string): Promise<void> {
  await transaction.execute(
    `UPDATE payment SET status = CASE WHEN disputed_nano_usd > 0 THEN 'disputed'
       WHEN refunded_nano_usd = amount_nano_usd THEN 'refunded' ELSE 'paid' END WHERE id = $1`,
    [paymentId],
  );
}

async function readPosted(transaction: Queryable, accountId: string): Promise<bigint> {
  const [balance] = await transaction.query({
    text: `SELECT posted_nano_usd AS "amountNanoUsd" FROM account_balance WHERE account_id = $1`,
    values: [accountId],
    row: amountRow,
  });
  return balance?.amountNanoUsd ?? 0n;
}
