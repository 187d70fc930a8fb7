import type { PaymentNotice } from "./notice.ts";

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

/** Takes customers' money (S26). Nothing is credited but for a notice whose signature is right. */
export interface PaymentProvider {
  /** In the ledger, and in the address that notices are sent to. */
  name: "stripe" | "test";
  /** A form may lead there; null: it is a page of ours. */
  checkoutOrigin: string | null;
  openCheckout(order: Order): Promise<OpenedCheckout>;
  /**
   * @param body as it came, to the byte: the signature is of that.
   * @returns null for news that moves no credit.
   * @throws GatewayError `invalid_request` for what the provider did not sign, or signed too long ago.
   */
  readNotice(body: Buffer, signature: string | undefined): PaymentNotice | null;
}
