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
 * the customer then owes the part that was already used. All of it together is at most the payment, and once all disputes have
 * ended, it is the same in whichever order the notices came.
 */

export interface PaymentRefund extends PaymentName {
  /** The provider's id of this refund: it counts once. */
  refundId: string;
  /** The payment's remainder if absent. */
  amountNanoUsd?: bigint;
}

/**
 * Deducts the credit of a payment, or a part of it, that the provider returned to the customer. A dispute may have taken it: then
 * it gives it back.
 * @throws GatewayError `not_found` for an unknown payment; `invalid_request` for one that was not paid, and for more than was not
 * refunded yet.
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
    const { accountId } = payment;
    const amountNanoUsd = refund.amountNanoUsd ?? posted?.amountNanoUsd ?? leftOf(payment);
    if (posted === undefined) {
      if (await hasFailed(transaction, payment.id, refund.refundId))
        return { isNew: false, postedNanoUsd: await readPosted(transaction, accountId) };
      checkLeft(amountNanoUsd, payment.amountNanoUsd - payment.refundedNanoUsd);
      await freeFromDisputes(transaction, payment, { nanoUsd: amountNanoUsd - leftOf(payment), refundId: refund.refundId });
      await transaction.execute("UPDATE payment SET refunded_nano_usd = refunded_nano_usd + $2 WHERE id = $1", [
        payment.id,
        amountNanoUsd,
      ]);
      await markStatus(transaction, payment.id);
      // The balance falls by it: an amount returned to the customer must not be charged again.
      await stopAutoTopUp(transaction, payment.accountId, "returned");
    }
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
 * The money of a refund has come back to the provider: a customer's bank does not take every one. Its credit is restored, once,
 * except for what a lost dispute claims. A refund that was not posted yet never will be.
 * @throws GatewayError as `refundPayment`.
 */
export async function restoreRefund(
  database: Database,
  { refundId, ...name }: Pick<PaymentRefund, "refundId"> & PaymentName,
): Promise<PostedCredit> {
  return database.transaction(async (transaction) => {
    const { id, accountId } = await lockPaid(transaction, name);
    await transaction.execute(
      "INSERT INTO payment_refund_failure (payment_id, provider_refund_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
      [id, refundId],
    );
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
    await takeClaims(transaction, name, `refund:${refundId}`);
    await markStatus(transaction, id);
    return { isNew: true, postedNanoUsd: await readPosted(transaction, accountId) };
  });
}

export interface PaymentDispute extends PaymentName {
  /** The provider's id of this dispute. */
  disputeId: string;
  /** "open" and "lost": the provider withholds the money. "won": it is ours again. */
  status: "open" | "won" | "lost";
  /**
   * The payment's remainder if absent. No more than that is taken: banks also dispute what was refunded before. From the first
   * notice of a dispute.
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
    const { id, accountId } = payment;
    const known = await findDispute(transaction, id, dispute.disputeId);
    const leftNanoUsd = leftOf(payment);
    // Of more than the payment nothing can be taken, and the ledger may have no room for it.
    const claimedNanoUsd = smallest(dispute.amountNanoUsd ?? leftNanoUsd, payment.amountNanoUsd);
    const posted = async (isNew: boolean) => ({ isNew, postedNanoUsd: await readPosted(transaction, accountId) });
    if (known === undefined && dispute.amountNanoUsd === undefined && leftNanoUsd === 0n) return posted(false);
    if (known === undefined && claimedNanoUsd <= 0n) checkLeft(claimedNanoUsd, leftNanoUsd);
    const amountNanoUsd = known?.amountNanoUsd ?? smallest(claimedNanoUsd, leftNanoUsd);
    const status = known === undefined || known.status === "open" ? dispute.status : known.status;
    const wasTaken = known !== undefined && known.status !== "won";
    const isTaken = status !== "won";
    await transaction.execute(
      known === undefined
        ? `INSERT INTO payment_dispute (payment_id, provider_dispute_id, status, amount_nano_usd, claimed_nano_usd)
           VALUES ($1, $2, $3, $4, $5)`
        : "UPDATE payment_dispute SET status = $3 WHERE payment_id = $1 AND provider_dispute_id = $2",
      [id, dispute.disputeId, status, ...(known === undefined ? [amountNanoUsd, claimedNanoUsd] : [])],
    );
    const moved = (isTaken ? amountNanoUsd : 0n) - (wasTaken ? amountNanoUsd : 0n);
    const reference = `payment:${id}:dispute:${dispute.disputeId}`;
    if (moved !== 0n)
      await moveDisputed(transaction, payment, { nanoUsd: moved, reference: isTaken ? reference : `${reference}:won` });
    const claimed = known?.status === status ? 0n : await takeClaims(transaction, dispute, `dispute:${dispute.disputeId}`);
    await markStatus(transaction, id);
    return posted(moved !== 0n || claimed > 0n);
  });
}

/** Moves credit into a dispute, or out of it if the amount is below zero. */
async function moveDisputed(
  transaction: Queryable,
  { id, accountId }: Payment,
  { nanoUsd, reference }: { nanoUsd: bigint; reference: string },
): Promise<void> {
  await transaction.execute("UPDATE payment SET disputed_nano_usd = disputed_nano_usd + $2 WHERE id = $1", [id, nanoUsd]);
  if (nanoUsd > 0n) await stopAutoTopUp(transaction, accountId, "returned");
  await postCreditIn(transaction, { accountId, kind: "dispute", amountNanoUsd: -nanoUsd, reference });
}

/** A refund takes credit that disputes have taken: what they claim was returned already. */
async function freeFromDisputes(
  transaction: Queryable,
  payment: Payment,
  { nanoUsd, refundId }: { nanoUsd: bigint; refundId: string },
): Promise<void> {
  let missing = nanoUsd;
  for (const { disputeId, amountNanoUsd } of await listTaking(transaction, payment.id)) {
    if (missing <= 0n) return;
    const freed = smallest(missing, amountNanoUsd);
    if (freed === 0n) continue;
    missing -= freed;
    await changeTaken(transaction, payment, { disputeId, nanoUsd: -freed, cause: `refund:${refundId}` });
  }
}

/**
 * Lost disputes take what they claim of credit that is free again.
 * @param cause makes each entry unique: it occurs once.
 * @returns how much.
 */
async function takeClaims(transaction: Queryable, name: PaymentName, cause: string): Promise<bigint> {
  const payment = await lockPaid(transaction, name);
  let left = leftOf(payment);
  for (const { disputeId, status, amountNanoUsd, claimedNanoUsd } of await listTaking(transaction, payment.id)) {
    const taken = smallest(left, claimedNanoUsd - amountNanoUsd);
    if (status !== "lost" || taken <= 0n) continue;
    left -= taken;
    await changeTaken(transaction, payment, { disputeId, nanoUsd: taken, cause: `${cause}:claimed` });
  }
  return leftOf(payment) - left;
}

async function changeTaken(
  transaction: Queryable,
  payment: Payment,
  { disputeId, nanoUsd, cause }: { disputeId: string; nanoUsd: bigint; cause: string },
): Promise<void> {
  await transaction.execute(
    `UPDATE payment_dispute SET amount_nano_usd = amount_nano_usd + $3, claimed_nano_usd = coalesce(claimed_nano_usd, amount_nano_usd)
     WHERE payment_id = $1 AND provider_dispute_id = $2`,
    [payment.id, disputeId, nanoUsd],
  );
  await moveDisputed(transaction, payment, { nanoUsd, reference: `payment:${payment.id}:dispute:${disputeId}:${cause}` });
}

const amountRow = z.strictObject({ amountNanoUsd: z.bigint() });
const disputeRow = z.strictObject({ amountNanoUsd: z.bigint(), status: knownOrOther(["open", "won", "lost"]) });
const takingRow = disputeRow.extend({ disputeId: z.string(), claimedNanoUsd: z.bigint() });

/** Disputes that were not won, the oldest first. @throws GatewayError `billing_unavailable` for a status of a newer version. */
async function listTaking(transaction: Queryable, paymentId: string): Promise<z.infer<typeof takingRow>[]> {
  const taking = await transaction.query({
    text: `SELECT provider_dispute_id AS "disputeId", status, amount_nano_usd AS "amountNanoUsd",
             coalesce(claimed_nano_usd, amount_nano_usd) AS "claimedNanoUsd"
           FROM payment_dispute WHERE payment_id = $1 AND status <> 'won' ORDER BY created_at, provider_dispute_id`,
    values: [paymentId],
    row: takingRow,
  });
  if (taking.some(({ status }) => status === OTHER)) throw unknownStatus();
  return taking;
}

async function hasFailed(transaction: Queryable, paymentId: string, refundId: string): Promise<boolean> {
  const found = await transaction.execute(
    "SELECT FROM payment_refund_failure WHERE payment_id = $1 AND provider_refund_id = $2",
    [paymentId, refundId],
  );
  return found > 0;
}

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

function checkLeft(amountNanoUsd: bigint, leftNanoUsd: bigint): void {
  if (amountNanoUsd > 0n && amountNanoUsd <= leftNanoUsd) return;
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
