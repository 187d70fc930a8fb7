import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { FastifyInstance } from "fastify";
import { Stripe } from "stripe";
import { expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../dashboard/app.ts";
import { createPayments, type Payments } from "../../../dashboard/payments/payments.ts";
import { createStripeProvider } from "../../../dashboard/payments/stripe.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { startSession } from "../../../ledger/sign-in/sessions.ts";
import { listPayments, type Payment } from "../../../ledger/payments/payments.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { createBrowser, type Browser } from "../../support/dashboard/browser.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Paying: the pages and the webhook on a real Postgres. */
const postgres = usePostgres();
const WEBHOOK_SECRET = "whsec_of_this_test";
const ATTEMPT = "0199d8a0-0000-4000-8000-000000000001";

interface Shop {
  app: FastifyInstance;
  database: Database;
  baseUrl: string;
  /** A signed-in person with an account of their own. */
  visitor(email: string): Promise<{ browser: Browser; accountId: string }>;
}

async function openShop(
  choosePayments: (publicBaseUrl: string) => Payments | undefined | Promise<Payments | undefined>,
): Promise<Shop> {
  const { database } = await postgres.migrated();
  const port = await freePort();
  const baseUrl = `http://${LOOPBACK}:${port}`;
  const app = await createApp({
    database,
    log: captureLog().log,
    pepper: PEPPER,
    publicBaseUrl: baseUrl,
    signUp: { isOpen: true, domains: null },
    payments: await choosePayments(baseUrl),
  });
  await app.listen({ host: LOOPBACK, port });
  onTestFinished(() => app.close());
  return {
    app,
    database,
    baseUrl,
    async visitor(email) {
      const { person, accountId } = await signUp(database, { email, name: "Ada", password: "a few words together" });
      const browser = createBrowser(baseUrl);
      browser.cookies.set("session", await startSession(database, { personId: person.id, accountId, userAgent: "" }));
      return { browser, accountId };
    },
  };
}

const testShop = () => openShop((publicBaseUrl) => createPayments({ provider: "test" }, { publicBaseUrl, pepper: PEPPER }));

async function begin(browser: Browser, amount = "20.00", attempt = ATTEMPT) {
  return browser.submit("/dashboard/credit/top-up", "/dashboard/credit/top-up", { amount, attempt });
}

async function paymentsOf(database: Database, accountId: string): Promise<Payment[]> {
  return listPayments(database, { accountId, limit: 10 });
}

async function postedOf(database: Database, accountId: string): Promise<bigint> {
  return (await readBalance(database, accountId)).postedNanoUsd;
}

test("a top-up is credited when it is paid, once, and not before (S26)", async () => {
  const { database, visitor } = await testShop();
  const { browser, accountId } = await visitor("ada@example.com");
  const { headers } = await begin(browser);
  const payPage = headers["location"] ?? "";
  expect(payPage).toMatch(/^\/dashboard\/credit\/test-pay\/cs_test_/);
  expect(await postedOf(database, accountId)).toBe(0n);
  expect((await browser.get(payPage)).text).toContain("no money moves");
  expect((await browser.get("/dashboard/credit/top-up?paid=yes")).text).toContain("The payment may take a few seconds");
  for (let time = 0; time < 2; time++)
    expect((await browser.submit(payPage, payPage, { decision: "pay" })).headers["location"]).toContain("?paid=yes");
  expect(await postedOf(database, accountId)).toBe(20_000_000_000n);
  const thanks = (await browser.get("/dashboard/credit/top-up?paid=yes")).text;
  expect(thanks).toMatch(/>paid</);
  expect(thanks.replaceAll(/<[^>]*>/g, "")).toContain("Your balance is now $20.00.");
  expect((await browser.get("/dashboard/credit")).text).toContain("+$20.00");
  expect(await checkLedger(database)).toEqual([]);
});

test("the same form sent twice is one payment; with another amount it is another", async () => {
  const { database, visitor } = await testShop();
  const { browser, accountId } = await visitor("ada@example.com");
  const pages = [await begin(browser), await begin(browser), await begin(browser, "$1,030")].map(
    ({ headers }) => headers["location"],
  );
  expect(pages[1]).toBe(pages[0]);
  expect(pages[2]).not.toBe(pages[0]);
  expect((await paymentsOf(database, accountId)).map(({ amountNanoUsd }) => amountNanoUsd)).toEqual([
    1_030_000_000_000n,
    20_000_000_000n,
  ]);
});

test("an unpaid top-up gives no credit, and an invalid amount is rejected next to its field", async () => {
  const { database, visitor } = await testShop();
  const { browser, accountId } = await visitor("ada@example.com");
  const payPage = (await begin(browser)).headers["location"] ?? "";
  await browser.submit(payPage, payPage, { decision: "decline" });
  expect(await paymentsOf(database, accountId)).toMatchObject([{ status: "failed" }]);
  expect((await browser.get("/dashboard/credit/top-up")).text).toContain("From $5.00 to $5,000.00.");
  for (const amount of ["", "4.99", "$5,000.01", "12345678", "1,5", "1e3", "-20", "20.001"]) {
    const page = await begin(browser, amount);
    expect([amount, page.status, page.text.includes('id="amount-problem"')]).toEqual([amount, 400, true]);
  }
  expect(await postedOf(database, accountId)).toBe(0n);
});

test("another account's payment is not found", async () => {
  const { database, visitor } = await testShop();
  const ada = await visitor("ada@example.com");
  const eve = await visitor("eve@example.com");
  const payPage = (await begin(ada.browser)).headers["location"] ?? "";
  expect((await eve.browser.get(payPage)).status).toBe(404);
  expect((await eve.browser.submit("/dashboard/credit/top-up", payPage, { decision: "pay" })).status).toBe(404);
  expect((await eve.browser.get("/dashboard/credit/test-pay/%00")).status).toBe(404);
  expect(await postedOf(database, ada.accountId)).toBe(0n);
});

/** The part of Stripe's API that a checkout needs; it records requests. */
async function startStripeApi() {
  const asked: { path: string; key: string; idempotencyKey: string; body: URLSearchParams }[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = "", "idempotency-key": idempotencyKey = "" } = request.headers;
    const body = new URLSearchParams(await text(request));
    asked.push({ path: request.url ?? "", key: authorization, idempotencyKey: String(idempotencyKey), body });
    response.setHeader("content-type", "application/json");
    const session = { id: "cs_live_1", object: "checkout.session", url: "https://checkout.stripe.com/c/pay/cs_live_1" };
    response.end(JSON.stringify(session));
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { asked, url: new URL(`http://${LOOPBACK}:${portOf(server.address())}`) };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return address.port;
}

interface StripeShop extends Shop {
  browser: Browser;
  accountId: string;
  asked: Awaited<ReturnType<typeof startStripeApi>>["asked"];
  /** Sends an event, signed; its status. */
  sendEvent(type: string, object: unknown, options?: { secret?: string; path?: string }): Promise<number>;
}

async function stripeShop(): Promise<StripeShop> {
  const { asked, url } = await startStripeApi();
  const shop = await openShop((publicBaseUrl) =>
    createStripeProvider({ secretKey: "sk_test_1", webhookSecret: WEBHOOK_SECRET, publicBaseUrl, apiUrl: url }),
  );
  return {
    ...shop,
    ...(await shop.visitor("ada@example.com")),
    asked,
    async sendEvent(type, object, { secret = WEBHOOK_SECRET, path = "stripe" } = {}) {
      const payload = JSON.stringify({ type, data: { object } });
      const answer = await fetch(`${shop.baseUrl}/dashboard/webhooks/${path}`, {
        method: "POST",
        headers: {
          "content-type": "application/json; charset=utf-8",
          "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload, secret }),
        },
        body: payload,
      });
      await answer.text();
      return answer.status;
    },
  };
}

const session = { id: "cs_live_1", payment_status: "paid", amount_total: 2000, currency: "usd", payment_intent: "pi_1" };
const part = { amount: 500, currency: "usd", payment_intent: "pi_1" };

test("Stripe gets a checkout for the amount in cents, and the browser may go there", async () => {
  const { browser, asked, accountId } = await stripeShop();
  const page = await browser.get("/dashboard/credit/top-up");
  expect(page.headers["content-security-policy"]).toContain("form-action 'self' https://checkout.stripe.com");
  expect((await begin(browser)).headers["location"]).toBe("https://checkout.stripe.com/c/pay/cs_live_1");
  const [request] = asked;
  expect([request?.path, request?.key]).toEqual(["/v1/checkout/sessions", "Bearer sk_test_1"]);
  expect(request?.idempotencyKey).toBe(`${accountId}:${ATTEMPT}:2000`);
  expect(Object.fromEntries(request?.body ?? [])).toMatchObject({
    mode: "payment",
    client_reference_id: accountId,
    "line_items[0][price_data][unit_amount]": "2000",
    "line_items[0][price_data][currency]": "usd",
  });
});

test("a forged event credits nothing; the right one once, however often it arrives (S26)", async () => {
  const { browser, database, accountId, sendEvent } = await stripeShop();
  await begin(browser);
  expect(await sendEvent("checkout.session.completed", session, { secret: "whsec_guessed" })).toBe(400);
  expect(await sendEvent("checkout.session.completed", session, { secret: WEBHOOK_SECRET, path: "test" })).toBe(404);
  expect(await sendEvent("checkout.session.completed", { ...session, amount_total: 1 })).toBe(400);
  expect(await postedOf(database, accountId)).toBe(0n);
  const statuses = await Promise.all(Array.from({ length: 5 }, () => sendEvent("checkout.session.completed", session)));
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(await postedOf(database, accountId)).toBe(20_000_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("events in the wrong order are requested again until they fit, with the same result", async () => {
  const { browser, database, accountId, sendEvent } = await stripeShop();
  expect(await sendEvent("checkout.session.completed", session), "before the payment was noted").toBe(404);
  await begin(browser);
  const refund = { ...part, id: "re_1", status: "succeeded" };
  expect(await sendEvent("refund.updated", refund), "before it was paid").toBe(404);
  expect(await sendEvent("checkout.session.expired", { id: "cs_live_1" })).toBe(200);
  expect(await sendEvent("checkout.session.completed", session)).toBe(200);
  expect([await sendEvent("refund.updated", refund), await sendEvent("refund.created", refund)]).toEqual([200, 200]);
  expect(await sendEvent("checkout.session.expired", { id: "cs_live_1" })).toBe(200);
  expect(await postedOf(database, accountId)).toBe(15_000_000_000n);

  const dispute = { ...part, id: "dp_1" };
  expect(await sendEvent("charge.dispute.closed", { ...dispute, status: "won" })).toBe(200);
  expect(await sendEvent("charge.dispute.created", { ...dispute, status: "needs_response" })).toBe(200);
  expect(await postedOf(database, accountId), "won before it was opened").toBe(15_000_000_000n);
  expect(await sendEvent("charge.dispute.closed", { ...dispute, id: "dp_2", status: "lost" })).toBe(200);
  expect(await postedOf(database, accountId)).toBe(10_000_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("events with ids that nobody can have are refused, and disputes over more than can be paid take the payment (S26)", async () => {
  const { browser, database, accountId, sendEvent } = await stripeShop();
  await begin(browser);
  for (const id of ["", "cs_\0", "cs_\ud800", "c".repeat(256)]) {
    expect(await sendEvent("checkout.session.completed", { ...session, id })).toBe(400);
    expect(await sendEvent("checkout.session.expired", { id })).toBe(400);
  }
  expect(await sendEvent("checkout.session.completed", session)).toBe(200);
  for (const id of ["", "re_\0"]) {
    expect(await sendEvent("refund.failed", { ...part, id, status: "failed" })).toBe(400);
    expect(await sendEvent("refund.created", { ...part, id, status: "succeeded" })).toBe(400);
    expect(await sendEvent("charge.dispute.created", { ...part, id, status: "needs_response" })).toBe(400);
  }
  expect(await postedOf(database, accountId)).toBe(20_000_000_000n);
  const dispute = { ...part, id: "dp_1", amount: Number.MAX_SAFE_INTEGER };
  expect(await sendEvent("charge.dispute.created", { ...dispute, status: "needs_response" })).toBe(200);
  expect(await postedOf(database, accountId)).toBe(0n);
  expect(await sendEvent("charge.dispute.closed", { ...dispute, status: "won" })).toBe(200);
  expect(await postedOf(database, accountId)).toBe(20_000_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("a refund that fails gives the credit back, and its entry leads to the payment's receipt", async () => {
  const { browser, database, accountId, sendEvent } = await stripeShop();
  await begin(browser);
  expect(await sendEvent("checkout.session.completed", session)).toBe(200);
  expect(await sendEvent("refund.created", { ...part, id: "re_1", status: "succeeded" })).toBe(200);
  for (const type of ["refund.updated", "refund.failed"])
    expect(await sendEvent(type, { ...part, id: "re_1", status: "failed" })).toBe(200);
  expect(await postedOf(database, accountId)).toBe(20_000_000_000n);
  const { text } = await browser.get("/dashboard/credit");
  const receipts = [...text.matchAll(/href="(\/dashboard\/credit\/receipts\/[^"]+)"/g)].map(([, address = ""]) => address);
  expect(receipts).toHaveLength(2);
  for (const address of receipts) expect((await browser.get(address)).status).toBe(200);
  expect(await checkLedger(database)).toEqual([]);
});

test("without a payment provider there is no page for payments, and no address for events", async () => {
  const { app, visitor } = await openShop(() => undefined);
  const { browser } = await visitor("ada@example.com");
  expect((await browser.get("/dashboard/credit/top-up")).status).toBe(404);
  expect((await browser.get("/dashboard/credit")).text).not.toContain("top-up");
  for (const provider of ["stripe", "test"])
    expect((await app.inject({ method: "POST", url: `/dashboard/webhooks/${provider}`, payload: "{}" })).statusCode).toBe(404);
});
