import type { AutoTopUpCharge } from "../../ledger/payments/auto-top-up-charges.ts";
import type { PaymentDispute } from "../../ledger/payments/reversals.ts";
import type { SavedCard } from "../../ledger/payments/saved-cards.ts";

/** What a customer is about to pay. */
export interface Order {
  accountId: string;
  amountNanoUsd: bigint;
  /** Identifies the form that requested it: the same form sent twice is one payment. */
  attemptId: string;
}

export interface OpenedCheckout {
  providerPaymentId: string;
  /** The page where the customer pays. */
  url: string;
}

/** Whose card is to be saved. */
export interface CardOrder {
  accountId: string;
  /** The provider's customer id, if it knows the customer. */
  customerId: string | undefined;
}

/**
 * The result of a charge. "taken": notices report the outcome. "declined": the card will not pay it. "unknown": it was requested
 * too long ago to repeat, and never reached the provider.
 */
export type ChargeAnswer = "taken" | "declined" | "unknown";

/** A payment's notice, signed by its provider. `providerPaymentId` is the checkout's, or the former `providerChargeId`. */
export type PaymentNotice =
  | { kind: "paid"; providerPaymentId: string; providerChargeId: string | null; amountNanoUsd: bigint }
  | { kind: "failed"; providerPaymentId: string }
  /** A saved card that we charged. */
  | { kind: "declined"; providerPaymentId: string }
  | { kind: "refunded"; providerPaymentId: string; refundId: string; amountNanoUsd: bigint }
  /** After it had succeeded, or without that. */
  | { kind: "refund_failed"; providerPaymentId: string; refundId: string }
  | {
      kind: "disputed";
      providerPaymentId: string;
      disputeId: string;
      status: PaymentDispute["status"];
      amountNanoUsd: bigint;
    };

/** A notice about a card that a customer saved. `setupId` is the provider's reference to it. */
export interface CardNotice {
  kind: "card_saved";
  accountId: string;
  setupId: string;
  savedAt: Date;
}

/** Takes customers' money (S26). Credit requires a notice with a valid signature. */
export interface PaymentProvider {
  /** Used in the ledger, and in the address for notices. */
  name: "stripe" | "test";
  /** Origin that a form may lead to; null if the page is ours. */
  checkoutOrigin: string | null;
  openCheckout(order: Order): Promise<OpenedCheckout>;
  /** @returns the page where the customer saves a card. */
  openCardCheckout(order: CardOrder): Promise<string>;
  /** The card that a notice reported. */
  readCard(setupId: string): Promise<SavedCard>;
  /** Makes the card unusable for us. It is not an error if it is already gone. */
  forgetCard(card: SavedCard): Promise<void>;
  /**
   * Charges a saved card without the customer; the same charge once, however often it is requested.
   * @throws GatewayError `upstream_unavailable` if the result is unknown: the charge is to be requested again.
   */
  chargeCard(charge: AutoTopUpCharge): Promise<ChargeAnswer>;
  /** The result of a requested charge. @throws as `chargeCard`. */
  findCharge(charge: AutoTopUpCharge): Promise<ChargeAnswer>;
  /**
   * @param body as received, byte for byte, because the signature covers it.
   * @returns null for notices that change no credit.
   * @throws GatewayError `invalid_request` for a notice with an invalid or old signature.
   */
  readNotice(body: Buffer, signature: string | undefined): Promise<PaymentNotice | CardNotice | null>;
}
