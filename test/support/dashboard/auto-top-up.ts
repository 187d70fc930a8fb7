import { Stripe } from "stripe";
import { topUpAutomatically } from "../../../dashboard/payments/auto-top-up.ts";
import type { Mailer } from "../../../dashboard/mail/letter.ts";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { createPayments, type Payments } from "../../../dashboard/payments/payments.ts";
import { createStripeProvider } from "../../../dashboard/payments/stripe.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { turnOnAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { listPayments } from "../../../ledger/payments/payments.ts";
import { saveCard } from "../../../ledger/payments/saved-cards.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { openDashboard, type SignedIn } from "./dashboard.ts";
import { PEPPER } from "../billing/ledger.ts";
import { captureLog } from "../stacks/log.ts";
import type { TestPostgres } from "../billing/postgres.ts";
import { startStripeApi, type StripeApi } from "../servers/stripe-api.ts";

const WEBHOOK_SECRET = "whsec_of_this_test";
export const USD = 1_000_000_000n;
export const TERMS = { belowNanoUsd: 5n * USD, amountNanoUsd: 20n * USD, monthlyNanoUsd: 100n * USD };
export const FORM = { below: "5", charge: "20", monthly: "100" };

/** A dashboard on a port, which takes notices, and rounds of automatic top-up of three replicas. */
export interface AutoTopUpShop {
  database: Database;
  ann: SignedIn;
  mailer: Mailer;
  letters(): string[][];
  viewer(): Promise<SignedIn>;
  /** One round of each of several replicas, at once. */
  round(replicas?: number, mailer?: Mailer): Promise<void>;
  /** Moves the balance to an amount. */
  balanceTo(nanoUsd: bigint): Promise<void>;
  posted(): Promise<bigint>;
  page(): Promise<string>;
  /** By all rounds. */
  logged(): string;
  baseUrl: string;
}

async function openShop(
  postgres: TestPostgres,
  choosePayments: (publicBaseUrl: string) => Payments | Promise<Payments>,
): Promise<AutoTopUpShop> {
  const { database, connect } = await postgres.migrated();
  const port = await freePort();
  const baseUrl = `http://${LOOPBACK}:${port}`;
  const provider = await choosePayments(baseUrl);
  const outbox = createOutbox();
  const dashboard = await openDashboard(database, { publicBaseUrl: baseUrl, payments: provider, mailer: outbox });
  await dashboard.app.listen({ host: LOOPBACK, port });
  const ann = await dashboard.owner("ann@example.com");
  const replicas = ["one", "two", "three"].map((name) => connect(name));
  const posted = async () => (await readBalance(database, ann.accountId)).postedNanoUsd;
  const { log, lines } = captureLog();
  let entries = 0;
  return {
    logged: () => JSON.stringify(lines),
    database,
    ann,
    baseUrl,
    mailer: outbox,
    posted,
    viewer: () => dashboard.inAccount(ann.accountId, "viewer"),
    letters: () => outbox.outbox?.letters.map(({ letter }) => [letter.to, letter.subject]) ?? [],
    page: async () => (await ann.get("/dashboard/credit")).body,
    async round(count = 1, mailer = outbox) {
      const rounds = replicas
        .slice(0, count)
        .map((replica) => topUpAutomatically({ database: replica, provider, mailer, publicBaseUrl: baseUrl, log }));
      await Promise.all(rounds);
    },
    async balanceTo(nanoUsd) {
      const amountNanoUsd = nanoUsd - (await posted());
      if (amountNanoUsd === 0n) return;
      const reference = `entry ${++entries}`;
      await postCredit(database, { accountId: ann.accountId, kind: "adjust", amountNanoUsd, reference });
    },
  };
}

export const openTestShop = (postgres: TestPostgres): Promise<AutoTopUpShop> =>
  openShop(
    postgres,
    async (publicBaseUrl) => (await createPayments({ provider: "test" }, { publicBaseUrl, pepper: PEPPER })) ?? none(),
  );

function none(): never {
  throw new Error("There is no way to pay.");
}

export interface StripeShop extends AutoTopUpShop {
  api: StripeApi;
  /** Sends an event, signed; its status. */
  sendEvent(type: string, object: unknown): Promise<number>;
  /** Tells of all charges that were made, as often as it is called; the statuses. */
  sendAllEvents(): Promise<number[]>;
  charges(): Promise<{ status: string; providerPaymentId: string }[]>;
}

/** With a card, and on. */
export async function openStripeShop(postgres: TestPostgres, terms = TERMS): Promise<StripeShop> {
  const api = await startStripeApi();
  const shop = await openShop(postgres, (publicBaseUrl) =>
    createStripeProvider({ secretKey: "sk_test_1", webhookSecret: WEBHOOK_SECRET, publicBaseUrl, apiUrl: api.url }),
  );
  const { database, ann, baseUrl } = shop;
  const card = { customerId: "cus_1", cardId: "pm_1", label: "visa ending in 4242" };
  await saveCard(database, { accountId: ann.accountId, provider: "stripe", card, savedAt: new Date(0) });
  await turnOnAutoTopUp(database, ann.accountId, terms);

  async function sendEvent(type: string, object: unknown): Promise<number> {
    const payload = JSON.stringify({ type, data: { object } });
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: WEBHOOK_SECRET });
    const headers = { "content-type": "application/json", "stripe-signature": signature };
    const answer = await fetch(`${baseUrl}/dashboard/webhooks/stripe`, { method: "POST", headers, body: payload });
    await answer.text();
    return answer.status;
  }
  return {
    ...shop,
    api,
    sendEvent,
    sendAllEvents: () =>
      Promise.all(
        api.intents.map((intent) =>
          sendEvent(`payment_intent.${intent.status === "succeeded" ? "succeeded" : "payment_failed"}`, intent),
        ),
      ),
    charges: () => listPayments(database, { accountId: ann.accountId, limit: 20 }),
  };
}
