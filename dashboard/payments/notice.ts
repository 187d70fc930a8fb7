import { declineCharge } from "../../ledger/payments/auto-top-up-charges.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { disputePayment, refundPayment, restoreRefund } from "../../ledger/payments/reversals.ts";
import { completePayment, failPayment } from "../../ledger/payments/payments.ts";
import { saveCard } from "../../ledger/payments/saved-cards.ts";
import type { CardNotice, PaymentNotice, PaymentProvider } from "./provider.ts";

/**
 * Applies a provider's notice to the ledger, once, however often it arrives. Notices may arrive in any order: one that is too
 * early is refused, and the provider sends it again.
 * @param provider its signer, which can only report its own payments.
 * @throws GatewayError `not_found` for an unknown payment; `invalid_request` for one that is not paid yet, and for another amount
 * than requested.
 */
export async function applyNotice(
  database: Database,
  provider: PaymentProvider,
  notice: PaymentNotice | CardNotice,
): Promise<void> {
  if (notice.kind !== "card_saved") return applyPaymentNotice(database, provider.name, notice);
  const { accountId, setupId, savedAt } = notice;
  const card = await provider.readCard(setupId);
  const unneeded = await saveCard(database, { accountId, provider: provider.name, card, savedAt });
  if (unneeded !== undefined) await provider.forgetCard(unneeded);
}

async function applyPaymentNotice(database: Database, provider: string, notice: PaymentNotice): Promise<void> {
  const { providerPaymentId } = notice;
  const name = { provider, providerPaymentId };
  switch (notice.kind) {
    case "paid": {
      const { amountNanoUsd, providerChargeId } = notice;
      await completePayment(database, { ...name, amountNanoUsd, ...(providerChargeId === null ? {} : { providerChargeId }) });
      return;
    }
    case "failed":
      return failPayment(database, name);
    case "declined":
      return declineCharge(database, name);
    case "refunded":
      await refundPayment(database, { ...name, refundId: notice.refundId, amountNanoUsd: notice.amountNanoUsd });
      return;
    case "refund_failed":
      await restoreRefund(database, { ...name, refundId: notice.refundId });
      return;
    case "disputed": {
      const { disputeId, status, amountNanoUsd } = notice;
      await disputePayment(database, { ...name, disputeId, status, amountNanoUsd });
      return;
    }
  }
}
