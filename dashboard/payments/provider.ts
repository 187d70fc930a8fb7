import type { AutoTopUpCharge } from "../../ledger/payments/auto-top-up-charges.ts";
import type { PaymentDispute } from "../../ledger/payments/reversals.ts";
import type { SavedCard } from "../../ledger/payments/saved-cards.ts";

/** What a customer is about to pay. */
export interface Order {
  accountId: string;
  amountNanoUsd: bigint;
  /** Of the form that asked for it: the same form sent twice is one payment. */
  attemptId: string;
}

export interface OpenedCheckout {
  providerPaymentId: string;
  /** Where the customer pays. */
  url: string;
}

/** Whose card is to be saved. */
export interface CardOrder {
  accountId: string;
  /** The provider's, where it knows them already. */
  customerId: string | undefined;
}

/**
 * What a provider makes of a charge. "taken": its notices tell the rest. "declined": it will not be paid with this card.
 * "unknown": it was asked too long ago to ask again, and never got to the provider.
 */
export type ChargeAnswer = "taken" | "declined" | "unknown";

/** News of a payment, as its provider signed it. `providerPaymentId` is the checkout's, or what `providerChargeId` was. */
export type PaymentNotice =
  | { kind: "paid"; providerPaymentId: string; providerChargeId: string | null; amountNanoUsd: bigint }
  | { kind: "failed"; providerPaymentId: string }
  /** A saved card that we charged. */
  | { kind: "declined"; providerPaymentId: string }
  | { kind: "refunded"; providerPaymentId: string; refundId: string; amountNanoUsd: bigint }
  | {
      kind: "disputed";
      providerPaymentId: string;
      disputeId: string;
      status: PaymentDispute["status"];
      amountNanoUsd: bigint;
    };

/** News of a card that a customer saved. `setupId`: under which the provider gives it. */
export interface CardNotice {
  kind: "card_saved";
  accountId: string;
  setupId: string;
  savedAt: Date;
}

/** Takes customers' money (S26). Nothing is credited but for a notice whose signature is right. */
export interface PaymentProvider {
  /** In the ledger, and in the address that notices are sent to. */
  name: "stripe" | "test";
  /** A form may lead there; null: it is a page of ours. */
  checkoutOrigin: string | null;
  openCheckout(order: Order): Promise<OpenedCheckout>;
  /** @returns where the customer gives a card to keep. */
  openCardCheckout(order: CardOrder): Promise<string>;
  /** The card that a notice told of. */
  readCard(setupId: string): Promise<SavedCard>;
  /** It cannot be charged any more, by nobody of ours. One that is forgotten already is no news. */
  forgetCard(card: SavedCard): Promise<void>;
  /**
   * Charges a saved card, nobody being there; the same charge once, however often it is asked for.
   * @throws GatewayError `upstream_unavailable` where the answer is not known: it is to be asked for again.
   */
  chargeCard(charge: AutoTopUpCharge): Promise<ChargeAnswer>;
  /** What became of a charge that the provider was asked for. @throws as `chargeCard`. */
  findCharge(charge: AutoTopUpCharge): Promise<ChargeAnswer>;
  /**
   * @param body as it came, to the byte: the signature is of that.
   * @returns null for news that moves no credit.
   * @throws GatewayError `invalid_request` for what the provider did not sign, or signed too long ago.
   */
  readNotice(body: Buffer, signature: string | undefined): Promise<PaymentNotice | CardNotice | null>;
}
