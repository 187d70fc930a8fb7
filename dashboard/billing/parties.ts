import type { BillingDetails } from "../../ledger/billing/billing-details.ts";
import type { Seller } from "../config/operator.ts";
import type { Party } from "../pdf/document.ts";

/** The sender and recipient of a document. */
export interface Parties {
  seller: Seller | undefined;
  publicBaseUrl: string;
  details: BillingDetails | undefined;
  account: { id: string; name: string };
}

export function partiesOf({ seller, publicBaseUrl, details, account }: Parties): Party[] {
  return [
    { label: "From", lines: sellerLines(seller, publicBaseUrl) },
    { label: "Billed to", lines: customerLines(details, account) },
  ];
}

export function sellerLines(seller: Seller | undefined, publicBaseUrl: string): string[] {
  const { host } = new URL(publicBaseUrl);
  if (seller === undefined) return [host];
  return [seller.name, ...seller.addressLines, ...(seller.taxId === undefined ? [] : [`Tax ID ${seller.taxId}`]), host];
}

export function customerLines(details: BillingDetails | undefined, account: { id: string; name: string }): string[] {
  if (details === undefined) return [account.name, `Account ${account.id}`];
  const { name, address, taxId } = details;
  const lines = [name, ...address.split("\n"), ...(taxId === "" ? [] : [`Tax ID ${taxId}`]), `Account ${account.id}`];
  return lines.filter((line) => line !== "");
}
