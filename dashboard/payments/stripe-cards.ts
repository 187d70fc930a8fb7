import { Stripe } from "stripe";
import { GatewayError } from "../../contract/errors.ts";
import type { AutoTopUpCharge } from "../../ledger/payments/auto-top-up-charges.ts";
import type { SavedCard } from "../../ledger/payments/saved-cards.ts";
import type { CardOrder, ChargeAnswer, PaymentProvider } from "./provider.ts";
import { CHARGE_ID, NANO_PER_CENT } from "./stripe-notice.ts";

/** Stripe forgets an idempotency key after a day: later, the same key would be another charge. */
const KEY_LIVES_MS = 20 * 3_600_000;
const CLOCKS_DIFFER_S = 300;

/** Saved cards at Stripe, and their charges. */
export function createStripeCards(
  stripe: Stripe,
  publicBaseUrl: string,
): Pick<PaymentProvider, "openCardCheckout" | "readCard" | "forgetCard" | "chargeCard" | "findCharge"> {
  async function openCardCheckout({ accountId, customerId }: CardOrder): Promise<string> {
    const session = await stripe.checkout.sessions
      .create({
        mode: "setup",
        client_reference_id: accountId,
        currency: "usd",
        allowed_payment_method_types: ["card"],
        ...(customerId === undefined ? { customer_creation: "always" } : { customer: customerId }),
        success_url: `${publicBaseUrl}/dashboard/credit?card=saved`,
        cancel_url: `${publicBaseUrl}/dashboard/credit`,
      })
      .catch(notAnswered);
    if (session.url === null) throw new Error("Stripe opened a checkout without a page.");
    return session.url;
  }

  async function readCard(setupId: string): Promise<SavedCard> {
    const { customer, payment_method: method } = await stripe.setupIntents
      .retrieve(setupId, { expand: ["payment_method"] })
      .catch(notAnswered);
    if (customer === null || method === null || typeof method === "string")
      throw new GatewayError("invalid_request", "No card was saved with this checkout.");
    const label = method.card === undefined ? method.type : `${method.card.brand} ending in ${method.card.last4}`;
    return { customerId: typeof customer === "string" ? customer : customer.id, cardId: method.id, label };
  }

  async function forgetCard({ cardId }: SavedCard): Promise<void> {
    await stripe.paymentMethods.detach(cardId).catch((error: unknown) => {
      // Already detached, or deleted at Stripe.
      if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) notAnswered(error);
    });
  }

  async function chargeCard(charge: AutoTopUpCharge): Promise<ChargeAnswer> {
    if (Date.now() - charge.createdAt.getTime() > KEY_LIVES_MS) return findCharge(charge);
    try {
      const { status } = await stripe.paymentIntents.create(
        {
          amount: Number(charge.amountNanoUsd / NANO_PER_CENT),
          currency: "usd",
          customer: charge.customerId,
          payment_method: charge.cardId,
          // A page for the customer is useless: nobody is there.
          automatic_payment_methods: { enabled: true, allow_redirects: "never" },
          off_session: true,
          confirm: true,
          description: "Credit for Model Gateway, automatic top-up",
          metadata: { [CHARGE_ID]: charge.chargeId },
        },
        { idempotencyKey: charge.chargeId },
      );
      return answerOf(status);
    } catch (error) {
      if (isOfCard(error)) return "declined";
      return notAnswered(error);
    }
  }

  async function findCharge({ chargeId, customerId, createdAt }: AutoTopUpCharge): Promise<ChargeAnswer> {
    const since = Math.floor(createdAt.getTime() / 1000) - CLOCKS_DIFFER_S;
    try {
      for await (const intent of stripe.paymentIntents.list({ customer: customerId, created: { gte: since }, limit: 100 }))
        if (intent.metadata[CHARGE_ID] === chargeId) return answerOf(intent.status);
    } catch (error) {
      return notAnswered(error);
    }
    return "unknown";
  }

  return { openCardCheckout, readCard, forgetCard, chargeCard, findCharge };
}

function answerOf(status: Stripe.PaymentIntent.Status): ChargeAnswer {
  return status === "succeeded" || status === "processing" ? "taken" : "declined";
}

/** The bank declined, or the card no longer exists: nothing was charged. Other errors concern the configuration. */
function isOfCard(error: unknown): boolean {
  if (error instanceof Stripe.errors.StripeCardError) return true;
  if (!(error instanceof Stripe.errors.StripeInvalidRequestError)) return false;
  return error.param === "payment_method" || error.param === "customer";
}

function notAnswered(cause: unknown): never {
  throw new GatewayError("upstream_unavailable", "The payment provider did not respond. Try again soon.", { cause });
}
