import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { CardNotice, PaymentNotice } from "./provider.ts";

/** A cent, Stripe's unit of USD. */
export const NANO_PER_CENT = 10_000_000n;
/** A notice that was intercepted and replayed later is too old. */
const MAX_AGE_S = 300;
/** In a payment intent's metadata. */
export const CHARGE_ID = "auto_top_up";

/**
 * Reads an event of Stripe's webhook.
 * @returns null for events that change no credit.
 * @throws GatewayError `invalid_request` for a wrong or old signature, and for an event in another format or currency.
 */
export async function readStripeNotice(
  body: Buffer,
  { signature, secret }: { signature: string | undefined; secret: string },
): Promise<PaymentNotice | CardNotice | null> {
  const event = eventSchema.safeParse(await verify(body, signature ?? "", secret));
  if (!event.success) throw new GatewayError("invalid_request", "This event could not be read.", { cause: event.error });
  return noticeOf(event.data);
}

async function verify(body: Buffer, signature: string, secret: string): Promise<unknown> {
  // An empty secret would be a key that everybody knows.
  if (secret === "") throw new Error("A webhook needs a secret.");
  // With the first notice: where the test provider is chosen, most processes get none.
  const { Stripe } = await import("stripe");
  try {
    return Stripe.webhooks.constructEvent(body, signature, secret, MAX_AGE_S);
  } catch (cause) {
    throw new GatewayError("invalid_request", "The signature of this event is not valid.", { cause });
  }
}

const cents = z
  .int()
  .nonnegative()
  .transform((count) => BigInt(count) * NANO_PER_CENT);
const usd = z.literal("usd");
/** Such as "pi_3MtwBwLkdIwHu7ix28a3tqPa". */
const id = z.string().regex(/^[\x21-\x7e]{1,255}$/);
/** For saving a card: nothing is paid. */
const setupSession = z.object({
  mode: z.literal("setup"),
  client_reference_id: id,
  setup_intent: id,
  created: z.int(),
});
const paymentSession = z.object({
  mode: z.literal("payment").default("payment"),
  id,
  payment_status: z.enum(["paid", "unpaid", "no_payment_required"]),
  amount_total: cents,
  currency: usd,
  payment_intent: id.nullish(),
});
const session = z.discriminatedUnion("mode", [setupSession, paymentSession]);
/** Checkouts have intents, too: only those that we started carry our name. */
const intent = z.object({
  id,
  amount_received: cents,
  currency: z.string(),
  metadata: z.object({ [CHARGE_ID]: id.optional() }).nullish(),
});
const refund = z.object({
  id,
  status: z.string().nullish(),
  amount: cents,
  currency: usd,
  payment_intent: id.nullish(),
});
const dispute = z.object({
  id,
  status: z.string(),
  amount: cents,
  currency: usd,
  payment_intent: id.nullish(),
});

const SESSION_PAID = ["checkout.session.completed", "checkout.session.async_payment_succeeded"] as const;
const SESSION_FAILED = ["checkout.session.async_payment_failed", "checkout.session.expired"] as const;
const INTENT_PAID = ["payment_intent.succeeded"] as const;
const INTENT_FAILED = ["payment_intent.payment_failed", "payment_intent.canceled"] as const;
const REFUND = ["refund.created", "refund.updated", "refund.failed"] as const;
const DISPUTE = ["charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed"] as const;
/** All events that a webhook must be registered for. */
const EVENTS = [...SESSION_PAID, ...SESSION_FAILED, ...INTENT_PAID, ...INTENT_FAILED, ...REFUND, ...DISPUTE] as const;
const KNOWN: ReadonlySet<string> = new Set(EVENTS);

const knownSchema = z.discriminatedUnion("type", [
  z.object({ type: z.enum(SESSION_PAID), data: z.object({ object: session }) }),
  z.object({ type: z.enum(SESSION_FAILED), data: z.object({ object: z.object({ id }) }) }),
  z.object({ type: z.enum([...INTENT_PAID, ...INTENT_FAILED]), data: z.object({ object: intent }) }),
  z.object({ type: z.enum(REFUND), data: z.object({ object: refund }) }),
  z.object({ type: z.enum(DISPUTE), data: z.object({ object: dispute }) }),
]);
const otherSchema = z
  .object({ type: z.string().refine((type) => !KNOWN.has(type)) })
  .transform(() => ({ type: "other" as const }));
const eventSchema = z.union([knownSchema, otherSchema]);

function noticeOf(event: z.output<typeof eventSchema>): PaymentNotice | CardNotice | null {
  switch (event.type) {
    case "checkout.session.completed":
    case "checkout.session.async_payment_succeeded":
      return noticeOfSession(event.data.object);
    case "checkout.session.async_payment_failed":
    case "checkout.session.expired":
      return { kind: "failed", providerPaymentId: event.data.object.id };
    case "payment_intent.succeeded":
    case "payment_intent.payment_failed":
    case "payment_intent.canceled":
      return noticeOfIntent(event.data.object, event.type === "payment_intent.succeeded");
    case "refund.created":
    case "refund.updated":
    case "refund.failed": {
      const { id, status, amount, payment_intent: intent } = event.data.object;
      if (typeof intent !== "string") return null;
      if (status === "failed" || status === "canceled") return { kind: "refund_failed", providerPaymentId: intent, refundId: id };
      if (status !== "succeeded") return null;
      return { kind: "refunded", providerPaymentId: intent, refundId: id, amountNanoUsd: amount };
    }
    case "charge.dispute.created":
    case "charge.dispute.updated":
    case "charge.dispute.closed": {
      const { id, status, amount, payment_intent: intent } = event.data.object;
      const ours = disputeStatus(status);
      if (ours === null || typeof intent !== "string") return null;
      return { kind: "disputed", providerPaymentId: intent, disputeId: id, status: ours, amountNanoUsd: amount };
    }
    case "other":
      return null;
  }
}

function noticeOfSession(done: z.output<typeof session>): PaymentNotice | CardNotice | null {
  if (done.mode === "setup") {
    const { client_reference_id: accountId, setup_intent: setupId, created } = done;
    return { kind: "card_saved", accountId, setupId, savedAt: new Date(created * 1000) };
  }
  const { id, payment_status: status, amount_total: amountNanoUsd, payment_intent: intent } = done;
  // A bank transfer is completed first and paid days later.
  if (status !== "paid") return null;
  return { kind: "paid", providerPaymentId: id, providerChargeId: intent ?? null, amountNanoUsd };
}

function noticeOfIntent(done: z.output<typeof intent>, isPaid: boolean): PaymentNotice | null {
  const providerPaymentId = done.metadata?.[CHARGE_ID];
  if (providerPaymentId === undefined) return null;
  if (!isPaid) return { kind: "declined", providerPaymentId };
  if (done.currency !== "usd") throw new GatewayError("invalid_request", "This event's currency is not USD.");
  return { kind: "paid", providerPaymentId, providerChargeId: done.id, amountNanoUsd: done.amount_received };
}

/** An inquiry ("warning_…") and a prevented dispute take no money. */
function disputeStatus(status: string): "open" | "won" | "lost" | null {
  if (status === "won" || status === "lost") return status;
  return /^(appeal_)?(needs_response|under_review)$/.test(status) ? "open" : null;
}
