import type { ListedEntry } from "../../ledger/credit/entry-list.ts";

export const ENTRY_KINDS: Record<ListedEntry["kind"], string> = {
  grant: "Grant",
  topup: "Payment",
  adjust: "Adjustment",
  refund: "Refund of a charge",
  code: "Redeemed code",
  expire: "Expired grant",
  payment_refund: "Refunded payment",
  dispute: "Disputed payment",
  other: "Other",
};
