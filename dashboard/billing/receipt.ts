import type { Payment } from "../../ledger/payments/payments.ts";
import { paymentProviderName } from "../payments/provider-name.ts";
import type { DocumentText, Fact } from "../pdf/document.ts";
import { exactAmount } from "./amounts.ts";
import { partiesOf, type Parties } from "./parties.ts";

const NO_INVOICE = "This receipt is not a tax invoice. The payment provider issues the tax invoice, if there is one.";
const TEST = "A test payment: no money was charged.";

/** A document that confirms a payment. */
export function receiptDocument(payment: Payment, paidAt: Date, parties: Parties): DocumentText {
  const { id, currency, provider, providerChargeId, providerPaymentId, amountNanoUsd, refundedNanoUsd, disputedNanoUsd } =
    payment;
  const amount = `${exactAmount(amountNanoUsd)} ${currency}`;
  const facts: Fact[] = [
    { name: "Receipt number", value: id },
    { name: "Date paid", value: `${paidAt.toISOString().slice(0, 19).replace("T", " ")} UTC` },
    { name: "Payment method", value: `${paymentProviderName(provider)}, ${providerChargeId ?? providerPaymentId}` },
  ];
  const rows = [{ cells: ["Prepaid credit", amount] }];
  if (refundedNanoUsd > 0n) rows.push({ cells: ["Refunded", `${exactAmount(-refundedNanoUsd)} ${currency}`] });
  if (disputedNanoUsd > 0n) rows.push({ cells: ["Disputed", `${exactAmount(-disputedNanoUsd)} ${currency}`] });
  const net = `${exactAmount(amountNanoUsd - refundedNanoUsd - disputedNanoUsd)} ${currency}`;
  const columns = [
    { name: "Description", share: 3 },
    { name: "Amount", share: 2, isNumber: true },
  ];
  return {
    title: "Receipt",
    madeAt: paidAt,
    footer: `Receipt ${id}`,
    blocks: [
      { kind: "parties", parties: partiesOf(parties) },
      { kind: "facts", facts },
      { kind: "table", columns, rows: [...rows, { cells: ["Total paid", net], isBold: true }] },
      { kind: "text", text: provider === "test" ? TEST : NO_INVOICE },
    ],
  };
}
