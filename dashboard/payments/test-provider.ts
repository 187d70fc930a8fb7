import { createHash } from "node:crypto";
import { GatewayError } from "../../contract/errors.ts";
import type { AutoTopUpCharge } from "../../ledger/payments/auto-top-up-charges.ts";
import type { Payment } from "../../ledger/payments/payments.ts";
import type { SavedCard } from "../../ledger/payments/saved-cards.ts";
import type { PaymentProvider } from "./provider.ts";
import { CHARGE_ID, NANO_PER_CENT, readStripeNotice } from "./stripe-notice.ts";

export interface TestProviderOptions {
  /** Signs notices. */
  secret: string;
  publicBaseUrl: string;
}

/** Simulated payments for trying the product on one machine: the same notices as Stripe's, signed and sent the same way. */
export interface TestProvider extends PaymentProvider {
  name: "test";
  /** Sends the notice of the customer's choice on the pay page. */
  decide(payment: Pick<Payment, "providerPaymentId" | "amountNanoUsd">, decision: "pay" | "decline"): Promise<void>;
  /** Sends the notice of the card that the customer chose to save. */
  giveCard(accountId: string, card: TestCard): Promise<void>;
}

/** "works": each charge is paid; "declines": none is. */
type TestCard = keyof typeof CARDS;

const CARDS = {
  works: { customerId: "cus_test", cardId: "pm_test_works", label: "test card ending in 4242" },
  declines: { customerId: "cus_test", cardId: "pm_test_declines", label: "test card ending in 0002" },
} as const satisfies Record<string, SavedCard>;

const ANSWER_WITHIN_MS = 10_000;

export function createTestProvider({ secret, publicBaseUrl }: TestProviderOptions): TestProvider {
  async function send(event: unknown): Promise<void> {
    const body = JSON.stringify(event);
    const { Stripe } = await import("stripe");
    const answer = await fetch(`${publicBaseUrl}/dashboard/webhooks/test`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret }),
      },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new GatewayError("upstream_unavailable", "The notice of this payment was not accepted. Try again.");
  }

  return {
    name: "test",
    checkoutOrigin: null,
    async openCheckout({ accountId, amountNanoUsd, attemptId }) {
      const hash = createHash("sha256").update(`${accountId} ${attemptId} ${amountNanoUsd}`).digest("hex").slice(0, 32);
      const providerPaymentId = `cs_test_${hash}`;
      return { providerPaymentId, url: `/dashboard/credit/test-pay/${providerPaymentId}` };
    },
    openCardCheckout: () => Promise.resolve("/dashboard/credit/test-card"),
    readCard: (setupId) => Promise.resolve(CARDS[setupId === setupIdOf("works") ? "works" : "declines"]),
    // Nothing is stored.
    forgetCard: () => Promise.resolve(),
    async chargeCard(charge) {
      const isPaid = charge.cardId === CARDS.works.cardId;
      const type = isPaid ? "payment_intent.succeeded" : "payment_intent.payment_failed";
      await send({ type, data: { object: intentOf(charge, isPaid) } });
      return "taken";
    },
    // Charges were reported immediately.
    findCharge: () => Promise.resolve("unknown"),
    giveCard: (accountId, card) =>
      send({ type: "checkout.session.completed", data: { object: cardSession(accountId, setupIdOf(card)) } }),
    readNotice: (body, signature) => readStripeNotice(body, { signature, secret }),
    decide: ({ providerPaymentId: id, amountNanoUsd }, decision) =>
      send(
        decision === "pay"
          ? { type: "checkout.session.completed", data: { object: paidSession(id, amountNanoUsd) } }
          : { type: "checkout.session.expired", data: { object: { id } } },
      ),
  };
}

function paidSession(id: string, amountNanoUsd: bigint) {
  return {
    id,
    payment_status: "paid",
    amount_total: Number(amountNanoUsd / NANO_PER_CENT),
    currency: "usd",
    payment_intent: id.replace(/^cs_/, "pi_"),
  };
}

function setupIdOf(card: TestCard): string {
  return `seti_test_${card}`;
}

function cardSession(accountId: string, setupId: string) {
  return {
    mode: "setup",
    client_reference_id: accountId,
    setup_intent: setupId,
    created: Math.floor(Date.now() / 1000),
  };
}

function intentOf({ chargeId, amountNanoUsd }: AutoTopUpCharge, isPaid: boolean) {
  return {
    id: chargeId.replace(/^auto_/, "pi_test_"),
    amount_received: isPaid ? Number(amountNanoUsd / NANO_PER_CENT) : 0,
    currency: "usd",
    metadata: { [CHARGE_ID]: chargeId },
  };
}
