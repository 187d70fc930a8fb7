import fc from "fast-check";
import { expect, test } from "vitest";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { disputePayment, refundPayment, restoreRefund } from "../../../ledger/payments/reversals.ts";
import { beginPayment, completePayment, failPayment, findPayment, listPayments } from "../../../ledger/payments/payments.ts";
import { createCustomer, seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

const ONE_USD = 1_000_000_000n;
const TEN_USD = 10n * ONE_USD;
const name = { provider: "test", providerPaymentId: "session-1" };
const asked = { ...name, accountId: "acme", amountNanoUsd: TEN_USD };

async function seed(): Promise<Database> {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  return database;
}

async function seedPaid(): Promise<Database> {
  const database = await seed();
  await beginPayment(database, asked);
  await completePayment(database, { ...name, providerChargeId: "charge-1" });
  return database;
}

async function postedOf(database: Database): Promise<bigint> {
  return (await readBalance(database, "acme")).postedNanoUsd;
}

async function statusOf(database: Database): Promise<string | undefined> {
  return (await findPayment(database, name))?.status;
}

test("a payment is credited once, however often and from wherever its provider reports it (S26)", async () => {
  const database = await seed();
  const payment = await beginPayment(database, asked);
  expect(payment).toMatchObject({ status: "pending", amountNanoUsd: TEN_USD, currency: "USD", paidAt: null });
  expect(await postedOf(database)).toBe(0n);
  const results = await Promise.all(
    Array.from({ length: 8 }, () => completePayment(database, { ...name, amountNanoUsd: TEN_USD, providerChargeId: "charge-1" })),
  );
  expect(results.filter(({ isNew }) => isNew)).toEqual([{ isNew: true, postedNanoUsd: TEN_USD }]);
  expect(await completePayment(database, name)).toEqual({ isNew: false, postedNanoUsd: TEN_USD });
  expect(await findPayment(database, { provider: "test", providerPaymentId: "charge-1" })).toMatchObject({
    id: payment.id,
    status: "paid",
    paidAt: expect.any(Date),
  });
  expect((await listEntries(database, { accountId: "acme", limit: 10 })).entries).toMatchObject([
    { kind: "topup", amountNanoUsd: TEN_USD, reference: `payment:${payment.id}` },
  ]);
  expect(await checkLedger(database)).toEqual([]);
});

test("the same id from two providers is two payments", async () => {
  const database = await seed();
  await beginPayment(database, asked);
  await beginPayment(database, { ...asked, provider: "stripe", amountNanoUsd: 7n });
  await completePayment(database, { ...name, provider: "stripe" });
  expect(await postedOf(database)).toBe(7n);
  expect(await statusOf(database)).toBe("pending");
});

test("a payment started twice is one; started with another amount or account it is rejected", async () => {
  const database = await seed();
  await createCustomer(database, "other");
  const [first, second] = await Promise.all([beginPayment(database, asked), beginPayment(database, asked)]);
  expect(second.id).toBe(first.id);
  await expect(beginPayment(database, { ...asked, amountNanoUsd: 1n })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(beginPayment(database, { ...asked, accountId: "other" })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(beginPayment(database, { ...asked, accountId: "nobody", providerPaymentId: "n" })).rejects.toMatchObject({
    code: "not_found",
  });
  await expect(beginPayment(database, { ...asked, amountNanoUsd: 0n })).rejects.toMatchObject({ field: "amountNanoUsd" });
});

test("an amount other than the requested one is not credited, nor is a payment that was never started", async () => {
  const database = await seed();
  await beginPayment(database, asked);
  await expect(completePayment(database, { ...name, amountNanoUsd: 1n })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(completePayment(database, { ...name, providerPaymentId: "x" })).rejects.toMatchObject({ code: "not_found" });
  expect(await postedOf(database)).toBe(0n);
  expect(await statusOf(database)).toBe("pending");
});

test("a failed payment is credited only if it is paid after all; a paid one cannot fail", async () => {
  const database = await seed();
  await beginPayment(database, asked);
  await failPayment(database, name);
  expect(await statusOf(database)).toBe("failed");
  expect(await checkLedger(database)).toEqual([]);
  await completePayment(database, name);
  await failPayment(database, name);
  expect(await statusOf(database)).toBe("paid");
  expect(await postedOf(database)).toBe(TEN_USD);
});

test("refunds deduct once what the provider returned, in parts and never more than was paid", async () => {
  const database = await seedPaid();
  const part = { ...name, refundId: "r1", amountNanoUsd: 4_000_000_000n };
  const results = await Promise.all(Array.from({ length: 6 }, () => refundPayment(database, part)));
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(await statusOf(database)).toBe("paid");
  await expect(refundPayment(database, { ...name, refundId: "r2", amountNanoUsd: 6_000_000_001n })).rejects.toMatchObject({
    code: "invalid_request",
  });
  // As providers do, it is named by its charge.
  expect(await refundPayment(database, { provider: "test", providerPaymentId: "charge-1", refundId: "r3" })).toEqual({
    isNew: true,
    postedNanoUsd: 0n,
  });
  expect(await refundPayment(database, { ...name, refundId: "r3" })).toEqual({ isNew: false, postedNanoUsd: 0n });
  expect(await findPayment(database, name)).toMatchObject({ status: "refunded", refundedNanoUsd: TEN_USD });
  expect(await completePayment(database, name)).toEqual({ isNew: false, postedNanoUsd: 0n });
  expect(await statusOf(database)).toBe("refunded");
  expect(await checkLedger(database)).toEqual([]);
});

test("a refund that fails after it succeeded restores its credit, once, and can be made again", async () => {
  const database = await seedPaid();
  const part = { ...name, refundId: "r1", amountNanoUsd: 4_000_000_000n };
  await restoreRefund(database, { ...name, refundId: "r0" });
  expect(await postedOf(database), "it never succeeded").toBe(TEN_USD);
  await refundPayment(database, part);
  await refundPayment(database, { ...name, refundId: "r2" });
  expect(await statusOf(database)).toBe("refunded");
  await Promise.all(Array.from({ length: 4 }, () => restoreRefund(database, part)));
  expect(await findPayment(database, name)).toMatchObject({ status: "paid", refundedNanoUsd: 6_000_000_000n });
  await refundPayment(database, part);
  expect(await postedOf(database), "an old notice comes again").toBe(4_000_000_000n);
  await refundPayment(database, { ...part, refundId: "r3" });
  expect(await postedOf(database)).toBe(0n);
  expect(await statusOf(database)).toBe("refunded");
  expect(await checkLedger(database)).toEqual([]);
});

test("two different concurrent refunds deduct no more than the payment", async () => {
  const database = await seedPaid();
  const outcomes = await Promise.allSettled(
    ["a", "b"].map((refundId) => refundPayment(database, { ...name, refundId, amountNanoUsd: 6_000_000_000n })),
  );
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(await postedOf(database)).toBe(4_000_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("an unpaid payment cannot be refunded", async () => {
  const database = await seed();
  await beginPayment(database, asked);
  await expect(refundPayment(database, { ...name, refundId: "r" })).rejects.toMatchObject({ code: "invalid_request" });
  await expect(disputePayment(database, { ...name, disputeId: "d", status: "open" })).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await postedOf(database)).toBe(0n);
});

test.for([
  ["open", ["open"], "disputed", 0n],
  ["open, then won", ["open", "won"], "paid", TEN_USD],
  ["open, then lost", ["open", "lost"], "disputed", 0n],
  ["won, told before open", ["won", "open"], "paid", TEN_USD],
  ["lost, told before open", ["lost", "open"], "disputed", 0n],
  ["each told twice", ["open", "open", "won", "won", "open"], "paid", TEN_USD],
] as const)("a dispute that is %s", async ([, notices, status, postedNanoUsd]) => {
  const database = await seedPaid();
  for (const notice of notices) await disputePayment(database, { ...name, disputeId: "d1", status: notice });
  expect(await statusOf(database)).toBe(status);
  expect(await postedOf(database)).toBe(postedNanoUsd);
  expect(await checkLedger(database)).toEqual([]);
});

test("a dispute over the rest of a refunded payment deducts only that; refunds wait for its end", async () => {
  const database = await seedPaid();
  await refundPayment(database, { ...name, refundId: "r", amountNanoUsd: 3_000_000_000n });
  await disputePayment(database, { ...name, disputeId: "d", status: "open" });
  expect(await findPayment(database, name)).toMatchObject({ status: "disputed", disputedNanoUsd: 7_000_000_000n });
  expect(await postedOf(database)).toBe(0n);
  await expect(refundPayment(database, { ...name, refundId: "r2" })).rejects.toMatchObject({ code: "invalid_request" });
  await disputePayment(database, { ...name, disputeId: "d", status: "won" });
  await refundPayment(database, { ...name, refundId: "r2" });
  expect(await findPayment(database, name)).toMatchObject({ status: "refunded", disputedNanoUsd: 0n });
  expect(await checkLedger(database)).toEqual([]);
});

test("a dispute over more than the rest of a payment deducts the rest, and restores that if it is won", async () => {
  const database = await seedPaid();
  await refundPayment(database, { ...name, refundId: "r", amountNanoUsd: 3_000_000_000n });
  const whole = { ...name, disputeId: "d", amountNanoUsd: TEN_USD };
  await expect(disputePayment(database, { ...whole, status: "open", amountNanoUsd: 0n })).rejects.toMatchObject({
    code: "invalid_request",
  });
  await disputePayment(database, { ...whole, status: "open" });
  expect(await findPayment(database, name)).toMatchObject({ status: "disputed", disputedNanoUsd: 7_000_000_000n });
  expect(await postedOf(database)).toBe(0n);
  const other = { ...whole, disputeId: "other" };
  expect(await disputePayment(database, { ...other, status: "open" }), "nothing is left").toEqual({
    isNew: false,
    postedNanoUsd: 0n,
  });
  await disputePayment(database, { ...whole, status: "won" });
  expect(await postedOf(database)).toBe(7_000_000_000n);
  await disputePayment(database, { ...other, status: "lost" });
  expect(await postedOf(database)).toBe(0n);
  expect(await checkLedger(database)).toEqual([]);
});

interface Notice {
  /** A refund or a dispute; each has one amount. */
  id: string;
  kind: "refunded" | "failed" | "open" | "won" | "lost";
  amountNanoUsd: bigint;
}

async function report(database: Database, { id, kind, amountNanoUsd }: Notice, providerPaymentId: string): Promise<void> {
  const payment = { ...name, providerPaymentId };
  if (kind === "refunded") await refundPayment(database, { ...payment, refundId: id, amountNanoUsd });
  else if (kind === "failed") await restoreRefund(database, { ...payment, refundId: id });
  else await disputePayment(database, { ...payment, disputeId: id, status: kind, amountNanoUsd });
}

/** All notices of a payment of ten dollars, each of them twice, in any order. */
const history = fc
  .record({
    refunds: fc.array(fc.record({ usd: fc.integer({ min: 1, max: 5 }), fails: fc.boolean() }), { maxLength: 2 }),
    disputes: fc.array(fc.record({ usd: fc.integer({ min: 1, max: 10 }), end: fc.constantFrom("won", "lost") }), {
      maxLength: 2,
    }),
  })
  .chain(({ refunds, disputes }) => {
    const notices: Notice[] = [];
    for (const [number, { usd, fails }] of refunds.entries())
      for (const kind of fails ? (["refunded", "failed"] as const) : (["refunded"] as const))
        notices.push({ id: `re_${number}`, kind, amountNanoUsd: BigInt(usd) * ONE_USD });
    for (const [number, { usd, end }] of disputes.entries())
      for (const kind of ["open", end] as const) notices.push({ id: `dp_${number}`, kind, amountNanoUsd: BigInt(usd) * ONE_USD });
    const sum = (amounts: readonly { usd: number }[]) => amounts.reduce((all, { usd }) => all + usd, 0);
    const refunded = sum(refunds.filter(({ fails }) => !fails));
    const lost = Math.min(sum(disputes.filter(({ end }) => end === "lost")), 10 - refunded);
    const reported = fc.shuffledSubarray([...notices, ...notices], { minLength: 2 * notices.length });
    return fc.record({ reported, leftNanoUsd: fc.constant(BigInt(10 - refunded - lost) * ONE_USD) });
  });

test("in whichever order refunds and disputes are reported, the same credit is left (S26)", { timeout: 120_000 }, async () => {
  const database = await seed();
  let payments = 0;
  await fc.assert(
    fc.asyncProperty(history, async ({ reported, leftNanoUsd }) => {
      const before = await postedOf(database);
      const providerPaymentId = `session-${(payments += 1)}`;
      await beginPayment(database, { ...asked, providerPaymentId });
      await completePayment(database, { ...name, providerPaymentId });
      for (const notice of reported) {
        await report(database, notice, providerPaymentId);
        const payment = await findPayment(database, { ...name, providerPaymentId });
        const takenNanoUsd = (payment?.refundedNanoUsd ?? 0n) + (payment?.disputedNanoUsd ?? 0n);
        expect((await postedOf(database)) - before).toBe(TEN_USD - takenNanoUsd);
      }
      expect((await postedOf(database)) - before).toBe(leftNanoUsd);
    }),
    { numRuns: 40 },
  );
  expect(await checkLedger(database)).toEqual([]);
});

test.for([
  ["a payment that lost its state", "UPDATE payment SET status = 'pending', paid_at = NULL"],
  ["a refund that was never posted", "UPDATE payment SET refunded_nano_usd = 1"],
  [
    "a payment's top-up without the payment",
    `INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference)
     VALUES ('acme', 'topup', 1, 'payment_clearing', 'payment:unknown')`,
  ],
  [
    "a top-up that was posted by hand",
    `INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference)
     VALUES ('acme', 'topup', 1, 'payment_clearing', 'a bank transfer')`,
  ],
])("the check finds %s", async ([, damage = ""]) => {
  const database = await seedPaid();
  expect(await checkLedger(database)).toEqual([]);
  await database.execute(damage);
  expect((await checkLedger(database)).map(({ check }) => check)).toContain("payments");
});

test("an account's payments are listed newest first, in pages", async () => {
  const database = await seed();
  const ids: string[] = [];
  for (let number = 0; number < 5; number++)
    ids.unshift((await beginPayment(database, { ...asked, providerPaymentId: `s${number}` })).id);
  const first = await listPayments(database, { accountId: "acme", limit: 3 });
  const rest = await listPayments(database, { accountId: "acme", limit: 3, beforeId: first.at(-1)?.id ?? "" });
  expect([...first, ...rest].map(({ id }) => id)).toEqual(ids);
});
