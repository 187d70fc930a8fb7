import { expect, test } from "vitest";
import { readAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { findSavedCard } from "../../../ledger/payments/saved-cards.ts";
import { FORM, openStripeShop, openTestShop, USD } from "../../support/dashboard/auto-top-up.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** The form of automatic top-up, and the card that is saved for it: on a real Postgres. */
const postgres = usePostgres();
const testShop = () => openTestShop(postgres);
const stripeShop = () => openStripeShop(postgres);

test("a declined test card has the same effect, by its notice", async () => {
  const { ann, round, balanceTo, posted, page, letters } = await testShop();
  await balanceTo(1n * USD);
  await ann.post("/dashboard/credit/auto-top-up", FORM);
  await ann.post("/dashboard/credit/test-card", { card: "declines" });
  await round(3);
  await round(3);
  expect(await posted()).toBe(1n * USD);
  expect(await page()).toContain("The card was declined, so automatic top-up is off.");
  expect(letters()).toHaveLength(1);
});

test("a removed card is detached at Stripe, and nothing is charged", async () => {
  const { api, ann, round, balanceTo, page } = await stripeShop();
  await balanceTo(0n);
  for (let time = 0; time < 2; time++) expect((await ann.post("/dashboard/credit/auto-top-up/card/remove")).statusCode).toBe(303);
  expect(api.asked.map(({ path }) => path)).toEqual(["/v1/payment_methods/pm_1/detach"]);
  expect(await page()).toContain("Off. When on, it charges a card that you save");
  await round(3);
  expect(api.intents).toEqual([]);
});

test("closing the account removes its card, which is detached at Stripe; Stripe's failure does not keep it open", async () => {
  for (const mood of ["pays", "lost"] as const) {
    const { api, database, ann } = await stripeShop();
    api.mood = mood;
    expect((await ann.post("/dashboard/settings/close", { name: "ann" })).statusCode).toBe(303);
    expect(new Set(api.asked.map(({ path }) => path))).toEqual(new Set(["/v1/payment_methods/pm_1/detach"]));
    const kept = await findSavedCard(database, { accountId: ann.accountId, provider: "stripe" });
    expect(kept === undefined).toBe(mood === "pays");
    expect((await ann.get("/dashboard/settings")).headers.location).toMatch(/sign-in/);
  }
});

test("invalid terms are rejected next to their field, and change nothing; viewers see no form", async () => {
  const { database, ann, viewer, round, balanceTo, posted } = await testShop();
  const wrong: [Record<string, string>, string][] = [
    [{ ...FORM, below: "0" }, "below"],
    [{ ...FORM, below: "1e3" }, "below"],
    [{ ...FORM, charge: "4.99" }, "charge"],
    [{ ...FORM, charge: "5000.01", monthly: "9999" }, "charge"],
    [{ ...FORM, below: "20.01" }, "charge"],
    [{ ...FORM, monthly: "19.99" }, "monthly"],
    [{ below: "5", charge: "20" }, "monthly"],
  ];
  for (const [form, name] of wrong) {
    const { statusCode, body } = await ann.post("/dashboard/credit/auto-top-up", form);
    expect([form, statusCode, body.includes(`id="${name}-problem"`)]).toEqual([form, 400, true]);
  }
  expect(await readAutoTopUp(database, ann.accountId)).toBeUndefined();
  await ann.post("/dashboard/credit/test-card", { card: "works" });
  await balanceTo(1n);
  await round();
  expect(await posted(), "a saved card alone charges nothing").toBe(1n);
  expect((await (await viewer()).get("/dashboard/credit")).body).not.toContain("Automatic top-up");
});

test("Stripe accepts the card on its own page; its notice saves it, and an older notice changes nothing", async () => {
  const { api, ann, database, sendEvent, page, round, balanceTo } = await stripeShop();
  await database.execute("DELETE FROM saved_card");
  const answer = await ann.post("/dashboard/credit/auto-top-up", FORM);
  expect(answer.headers["location"]).toBe("https://checkout.stripe.com/c/setup/cs_1");
  expect((await ann.get("/dashboard/credit")).headers["content-security-policy"]).toContain(
    "form-action 'self' https://checkout.stripe.com",
  );
  const asked = { mode: "setup", currency: "usd", client_reference_id: ann.accountId };
  expect(Object.fromEntries(api.asked[0]?.body ?? [])).toMatchObject({ ...asked, customer_creation: "always" });

  const done = { id: "cs_1", mode: "setup", payment_status: "no_payment_required", amount_total: null, currency: null };
  const session = { ...done, client_reference_id: ann.accountId, setup_intent: "seti_4444", created: 1_800_000_000 };
  const older = { ...session, setup_intent: "seti_1111", created: 1_700_000_000 };
  for (const object of [session, session, older, { ...session, client_reference_id: "nobody" }])
    expect(await sendEvent("checkout.session.completed", object)).toBe(200);
  expect(await page()).toContain("On, with Visa •••• 4444");

  await ann.post("/dashboard/credit/auto-top-up/card");
  expect(Object.fromEntries(api.asked.at(-1)?.body ?? [])).toMatchObject({ ...asked, customer: "cus_1" });
  await balanceTo(USD);
  await round();
  expect(api.asked.at(-1)?.body.get("payment_method")).toBe("pm_4444");
});

test("a replaced card is detached; a removed one does not return with an old notice, whose card is detached, too", async () => {
  const { api, ann, sendEvent, page } = await stripeShop();
  const created = Math.floor(Date.now() / 1000) + 5;
  const session = { id: "cs_1", mode: "setup", client_reference_id: ann.accountId, setup_intent: "seti_4444", created };
  for (let time = 0; time < 2; time++) expect(await sendEvent("checkout.session.completed", session)).toBe(200);
  const detached = () => api.asked.map(({ path }) => path).filter((path) => path.endsWith("/detach"));
  expect(detached()).toEqual(["/v1/payment_methods/pm_1/detach"]);
  expect(await page()).toContain("Visa •••• 4444");

  await ann.post("/dashboard/credit/auto-top-up/card/remove");
  expect(detached()).toHaveLength(2);
  const before = { ...session, setup_intent: "seti_1111", created: created - 10 };
  for (const object of [before, { ...before, client_reference_id: "nobody", setup_intent: "seti_2222" }])
    expect(await sendEvent("checkout.session.completed", object)).toBe(200);
  // Nobody sees it here: it must not stay at Stripe. Another product's card is none of our business.
  expect(detached().slice(2)).toEqual(["/v1/payment_methods/pm_1111/detach"]);
  expect(await page()).toContain("Off. When on, it charges a card that you save");
});
