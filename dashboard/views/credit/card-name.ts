import type { SavedCard } from "../../../ledger/payments/saved-cards.ts";

/** Spelled differently than with initial capitals. */
const BRANDS: Readonly<Record<string, string>> = { amex: "American Express", jcb: "JCB", unionpay: "UnionPay" };

/** "visa ending in 4242" as "Visa •••• 4242". */
export function cardName({ label }: SavedCard): string {
  const [, brand, last4 = ""] = /^(.+) ending in (\d{4})$/.exec(label) ?? [];
  if (brand === undefined) return label;
  return `${BRANDS[brand] ?? brand.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())} •••• ${last4}`;
}
