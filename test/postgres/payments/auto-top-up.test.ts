import { expect, test } from "vitest";
import type { Mailer } from "../../../dashboard/mail/letter.ts";
import { readAutoTopUp, turnOffAutoTopUp, turnOnAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { beginAutoTopUp } from "../../../ledger/payments/auto-top-up-charges.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { FORM, openStripeShop, openTestShop, TERMS, USD } from "../../support/dashboard/auto-top-up.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import type { StripeApi } from "../../support/servers/stripe-api.ts";

/** Charges of saved cards that nobody asks for at the time: on a real Postgres, with the provider's notices over HTTP. */
const postgres = usePostgres();
const testShop = () => openTestShop(postgres);
const stripeShop = (terms = TERMS) => openStripeShop(postgres, terms);

/** As if time had passed since the provider was asked, and since charges were begun. */
async function pass(database: Database, interval: string): Promise<void> {
  await database.execute(
    "UPDATE auto_top_up_charge SET tried_at = tried_at - $1::interval, answered_at = answered_at - $1::interval",
    [interval],
  );
  await database.execute("UPDATE payment SET created_at = created_at - $1::interval", [interval]);
}

const keysOf = ({ asked }: StripeApi) =>
  asked
    .filter(({ method, path }) => method === "POST" && path === "/v1/payment_intents")
    .map(({ idempotencyKey }) => idempotencyKey);

test("turned on with a test card, a balance that falls below the threshold is topped up once, and history shows it (S26)", async () => {
  const { database, ann, round, balanceTo, posted, page } = await testShop();
  await balanceTo(10n * USD);
  const on = await ann.post("/dashboard/credit/auto-top-up", FORM);
  expect([on.statusCode, on.headers["location"]]).toEqual([303, "/dashboard/credit/test-card"]);
  expect(await page()).toContain("Waiting for a card");
  await balanceTo(1n * USD);
  await round();
  expect(await posted(), "without a card").toBe(1n * USD);
  expect((await ann.get("/dashboard/credit/test-card")).body).toContain("no money moves");
  expect((await ann.post("/dashboard/credit/test-card", { card: "works" })).statusCode).toBe(303);
  expect(await page()).toContain("On, with Test Card •••• 4242. Charged this month: $0.00 of $100.00.");

  await balanceTo(5n * USD);
  await round();
  expect(await posted(), "not below").toBe(5n * USD);
  await balanceTo(5n * USD - 1n);
  await round(3);
  await round(3);
  expect(await posted()).toBe(25n * USD - 1n);
  expect(await page()).toContain("Charged this month: $20.00 of $100.00.");
  await balanceTo(2n * USD);
  await round(3);
  expect(await posted(), "the next fall").toBe(22n * USD);
  expect(await checkLedger(database)).toEqual([]);
});

test("one fall is one charge, with any number of replicas; it is credited when its notice arrives, once", async () => {
  const { database, api, round, balanceTo, posted, page, sendEvent, sendAllEvents, ann } = await stripeShop();
  await balanceTo(4n * USD);
  await Promise.all([round(3), round(3), round(3)]);
  await round(3);
  expect(api.intents).toHaveLength(1);
  expect(await posted(), "before the notice").toBe(4n * USD);
  expect(await page()).toContain("A charge is in progress.");
  const [request] = api.asked;
  expect(Object.fromEntries(request?.body ?? [])).toMatchObject({
    amount: "2000",
    currency: "usd",
    customer: "cus_1",
    payment_method: "pm_1",
    off_session: "true",
    confirm: "true",
    "metadata[auto_top_up]": request?.idempotencyKey,
  });

  const [intent] = api.intents;
  expect(await sendEvent("payment_intent.succeeded", { ...intent, amount_received: 1 }), "another amount").toBe(400);
  expect(await sendEvent("payment_intent.succeeded", { ...intent, currency: "eur" }), "another currency").toBe(400);
  expect(await sendEvent("payment_intent.succeeded", { ...intent, metadata: {} }), "of a checkout").toBe(200);
  expect(await posted()).toBe(4n * USD);
  const statuses = (await Promise.all([sendAllEvents(), sendAllEvents(), sendAllEvents()])).flat();
  expect(statuses).toEqual([200, 200, 200]);
  await round(3);
  expect(await posted()).toBe(24n * USD);
  expect(api.intents).toHaveLength(1);

  await balanceTo(0n);
  await round(3);
  await sendAllEvents();
  expect([api.intents.length, await posted()]).toEqual([2, 20n * USD]);
  expect(await sendEvent("payment_intent.payment_failed", intent), "of one that is paid").toBe(200);
  expect(await readAutoTopUp(database, ann.accountId)).toMatchObject({ isOn: true, chargedNanoUsd: 40n * USD });
  expect(await checkLedger(database)).toEqual([]);
});

test("a charge that was started and not sent is sent in the next round, and no other is started", async () => {
  const { database, ann, api, round, balanceTo, posted, sendAllEvents, charges } = await stripeShop();
  await balanceTo(-USD);
  const name = { accountId: ann.accountId, provider: "stripe" };
  const begun = await Promise.all([1, 2, 3, 4].map(() => beginAutoTopUp(database, name)));
  expect(begun.filter(Boolean)).toHaveLength(1);
  expect(api.asked).toEqual([]);
  await round(3);
  await round(3);
  const [charge] = await charges();
  expect(keysOf(api)).toEqual([charge?.providerPaymentId]);
  await sendAllEvents();
  expect(await posted()).toBe(19n * USD);
});

test("a request whose answer was lost is repeated with the same key: the card is charged once", { timeout: 60_000 }, async () => {
  const { database, api, round, balanceTo, posted, sendAllEvents, charges } = await stripeShop();
  await balanceTo(0n);
  api.mood = "lost";
  await round();
  api.mood = "pays";
  await round();
  expect(await charges(), "not yet asked again").toMatchObject([{ status: "pending" }]);
  const [charge] = await charges();
  const before = keysOf(api).length;
  await pass(database, "3 minutes");
  await round(3);
  expect(keysOf(api).length).toBe(before + 1);
  expect(new Set(keysOf(api))).toEqual(new Set([charge?.providerPaymentId]));
  expect(api.intents).toHaveLength(1);
  await sendAllEvents();
  await pass(database, "3 minutes");
  await round(3);
  expect([api.intents.length, await posted()]).toEqual([1, 20n * USD]);
  expect(await checkLedger(database)).toEqual([]);
});

test(
  "after a day, when the provider has forgotten the key, the charge is looked up instead of repeated",
  { timeout: 60_000 },
  async () => {
    const { database, api, round, balanceTo, posted, sendAllEvents, charges } = await stripeShop();
    await balanceTo(0n);
    api.mood = "lost";
    await round();
    api.mood = "pays";
    await pass(database, "25 hours");
    await round();
    expect(api.intents, "it was made").toHaveLength(1);
    await sendAllEvents();
    expect(await posted()).toBe(20n * USD);

    await balanceTo(0n);
    api.mood = "down";
    await round();
    api.mood = "pays";
    await pass(database, "25 hours");
    await round();
    expect(api.intents, "it was never made").toHaveLength(1);
    expect((await charges()).map(({ status }) => status)).toEqual(["failed", "paid"]);
    await round();
    await sendAllEvents();
    expect([api.intents.length, await posted()]).toEqual([2, 20n * USD]);
  },
);

test("nothing is charged beyond the monthly limit; the page shows that, and the next month starts again", async () => {
  const { database, api, round, balanceTo, page, sendAllEvents } = await stripeShop({ ...TERMS, monthlyNanoUsd: 59n * USD });
  for (let fall = 0; fall < 4; fall++) {
    await balanceTo(0n);
    await round(3);
    await sendAllEvents();
  }
  expect(api.intents).toHaveLength(2);
  expect(await page()).toContain("The monthly limit has been reached");
  await pass(database, "32 days");
  await balanceTo(0n);
  await round(3);
  expect(api.intents).toHaveLength(3);
});

test("a declined card turns it off: the page shows that, owners are notified once, and nothing more is charged", async () => {
  const { api, ann, database, round, balanceTo, posted, page, letters, sendAllEvents, charges, mailer } = await stripeShop();
  await balanceTo(0n);
  api.mood = "declines";
  const failing: Mailer = { outbox: null, send: () => Promise.reject(new Error("no route")) };
  await round(1, failing);
  expect(await page()).toContain("The card was declined, so automatic top-up is off.");
  expect(letters()).toEqual([]);
  await Promise.all([round(3, mailer), sendAllEvents()]);
  await round(3);
  expect(letters()).toEqual([["ann@example.com", expect.stringContaining("automatic top-up is off")]]);
  expect(await charges()).toMatchObject([{ status: "failed" }]);
  expect(api.intents).toHaveLength(1);

  api.mood = "pays";
  expect((await ann.post("/dashboard/credit/auto-top-up", FORM)).headers["location"]).toBe("/dashboard/credit");
  expect(await sendAllEvents(), "the old news again").toEqual([200]);
  expect(await readAutoTopUp(database, ann.accountId)).toMatchObject({ isOn: true, stoppedBecause: null });
  await round(3);
  await sendAllEvents();
  expect([api.intents.length, await posted(), letters().length]).toEqual([2, 20n * USD, 1]);
  expect(await checkLedger(database)).toEqual([]);
});

test("turned off, nothing is charged, not even a started charge; turned on again, one charge is made", async () => {
  const { api, ann, database, round, balanceTo, sendAllEvents, posted, page } = await stripeShop();
  await balanceTo(0n);
  await beginAutoTopUp(database, { accountId: ann.accountId, provider: "stripe" });
  expect((await ann.post("/dashboard/credit/auto-top-up/off")).statusCode).toBe(303);
  expect(await page()).toContain("Off. When on, it charges Visa •••• 4242");
  await round(3);
  expect(api.asked).toEqual([]);
  await turnOnAutoTopUp(database, ann.accountId, TERMS);
  await round(3);
  await sendAllEvents();
  expect([new Set(keysOf(api)).size, await posted()]).toEqual([1, 20n * USD]);
  await turnOffAutoTopUp(database, ann.accountId);
  await balanceTo(0n);
  await round(3);
  expect(api.intents).toHaveLength(1);
});

test("a started charge is abandoned if it is no longer wanted: paid by hand, or another card or other terms meanwhile", async () => {
  const { api, ann, database, round, balanceTo, posted, page, charges } = await stripeShop();
  const begin = async () => {
    await balanceTo(0n);
    expect(await beginAutoTopUp(database, { accountId: ann.accountId, provider: "stripe" })).toBe(true);
  };
  await begin();
  await balanceTo(50n * USD);
  await round(3);
  expect([api.asked.length, await posted()]).toEqual([0, 50n * USD]);
  expect(await page()).not.toContain("A charge is in progress.");

  await begin();
  await turnOnAutoTopUp(database, ann.accountId, { ...TERMS, amountNanoUsd: 10n * USD, belowNanoUsd: 1n });
  await balanceTo(2n);
  await round(3);
  expect(api.asked).toEqual([]);
  expect((await charges()).map(({ status }) => status)).toEqual(["failed", "failed"]);
});

test("a charge that was sent and is no longer wanted is looked up: credited if made, otherwise abandoned", async () => {
  const { api, database, round, balanceTo, posted, sendAllEvents, charges } = await stripeShop();
  await balanceTo(0n);
  api.mood = "down";
  await round();
  api.mood = "pays";
  await balanceTo(50n * USD);
  await pass(database, "3 minutes");
  await round(3);
  expect(api.intents).toEqual([]);
  expect((await charges()).map(({ status }) => status)).toEqual(["failed"]);

  await balanceTo(0n);
  api.mood = "lost";
  await round();
  api.mood = "pays";
  await balanceTo(50n * USD);
  await pass(database, "3 minutes");
  await round(3);
  await sendAllEvents();
  expect([api.intents.length, await posted()]).toEqual([1, 70n * USD]);
  expect(await checkLedger(database)).toEqual([]);
});

test("refunded or disputed money is not charged again: automatic top-up is turned off", async () => {
  const { database, api, ann, round, balanceTo, sendEvent, sendAllEvents, letters, page } = await stripeShop();
  const events = {
    "refund.created": { id: "re_1", status: "succeeded", amount: 2000, currency: "usd", payment_intent: "pi_1" },
    "charge.dispute.created": { id: "dp_1", status: "needs_response", amount: 2000, currency: "usd", payment_intent: "pi_2" },
  };
  for (const [index, [type, object]] of Object.entries(events).entries()) {
    await turnOnAutoTopUp(database, ann.accountId, TERMS);
    await balanceTo(0n);
    await round();
    await sendAllEvents();
    expect([type, await sendEvent(type, object)]).toEqual([type, 200]);
    await round(3);
    expect([type, api.intents.length, letters().length]).toEqual([type, index + 1, index + 1]);
    expect(await page()).toContain("A payment was refunded or disputed, so automatic top-up is off.");
  }
  expect(await checkLedger(database)).toEqual([]);
});

test("a charge without a notice is logged once an hour, and no other is started", async () => {
  const { database, api, round, balanceTo, logged } = await stripeShop();
  await balanceTo(0n);
  await round();
  await round();
  expect(logged()).not.toContain("no webhook arrived");
  await pass(database, "2 hours");
  await round(3);
  await round(3);
  expect(logged().split("no webhook arrived")).toHaveLength(2);
  expect(api.intents).toHaveLength(1);
});

test("a suspended account is not charged", async () => {
  const { database, api, ann, round, balanceTo } = await stripeShop();
  await balanceTo(0n);
  await database.execute("UPDATE account SET status = 'suspended' WHERE id = $1", [ann.accountId]);
  await round();
  expect(api.asked).toEqual([]);
});
