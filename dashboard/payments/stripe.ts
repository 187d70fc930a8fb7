import { Stripe } from "stripe";
import { GatewayError } from "../../contract/errors.ts";
import type { OpenedCheckout, Order, PaymentProvider } from "./provider.ts";
import { createStripeCards } from "./stripe-cards.ts";
import { NANO_PER_CENT, readStripeNotice } from "./stripe-notice.ts";

export interface StripeOptions {
  secretKey: string;
  /** Signs notices. */
  webhookSecret: string;
  publicBaseUrl: string;
  /** Address of Stripe's API, if not the real one. */
  apiUrl?: URL;
}

const ANSWER_WITHIN_MS = 15_000;
const RETRIES = 2;
const CHECKOUT_ORIGIN = "https://checkout.stripe.com";

export interface StripeProvider extends PaymentProvider {
  name: "stripe";
}

/** Stripe Checkout: the customer pays on Stripe's page, and card numbers never reach this process. */
export function createStripeProvider({ secretKey, webhookSecret, publicBaseUrl, apiUrl }: StripeOptions): StripeProvider {
  const stripe = new Stripe(secretKey, {
    timeout: ANSWER_WITHIN_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(apiUrl === undefined ? {} : addressOf(apiUrl)),
  });

  async function openCheckout({ accountId, amountNanoUsd, attemptId }: Order): Promise<OpenedCheckout> {
    const cents = Number(amountNanoUsd / NANO_PER_CENT);
    const session = await stripe.checkout.sessions
      .create(
        {
          mode: "payment",
          client_reference_id: accountId,
          line_items: [
            {
              quantity: 1,
              price_data: { currency: "usd", unit_amount: cents, product_data: { name: "Credit for Model Gateway" } },
            },
          ],
          success_url: `${publicBaseUrl}/dashboard/credit/top-up?paid=yes`,
          cancel_url: `${publicBaseUrl}/dashboard/credit/top-up`,
        },
        // Including the amount: a changed form is another payment.
        { idempotencyKey: `${accountId}:${attemptId}:${cents}` },
      )
      .catch((cause: unknown) => {
        throw new GatewayError(
          "upstream_unavailable",
          "The payment provider did not respond. Nothing was charged; try again soon.",
          {
            cause,
          },
        );
      });
    if (session.url === null) throw new Error("Stripe opened a checkout without a page.");
    return { providerPaymentId: session.id, url: session.url };
  }

  return {
    name: "stripe",
    checkoutOrigin: CHECKOUT_ORIGIN,
    openCheckout,
    ...createStripeCards(stripe, publicBaseUrl),
    readNotice: (body, signature) => readStripeNotice(body, { signature, secret: webhookSecret }),
  };
}

function addressOf({ hostname, port, protocol }: URL) {
  return { host: hostname, port: Number(port), protocol: protocol === "http:" ? ("http" as const) : ("https" as const) };
}
