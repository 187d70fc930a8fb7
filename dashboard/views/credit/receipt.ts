import { html } from "ghtml";
import type { Payment } from "../../../ledger/payments/payments.ts";
import { exactAmount } from "../../billing/amounts.ts";
import { paymentProviderName } from "../../payments/provider-name.ts";
import type { Member } from "../../session/visitor.ts";
import { factTerms } from "../facts.ts";
import { layout } from "../layout.ts";
import { exactMoment } from "../time.ts";

export interface ReceiptView {
  visitor: Member;
  payment: Payment;
  paidAt: Date;
  /** Lines of the seller's name and address. */
  from: readonly string[];
  /** The customer's. */
  to: readonly string[];
}

export function receiptPage({ visitor, payment, paidAt, from, to }: ReceiptView): string {
  const { id, amountNanoUsd, currency, provider, providerPaymentId, providerChargeId, refundedNanoUsd, disputedNanoUsd } =
    payment;
  // Values are HTML.
  const facts: [string, string][] = [
    ["Receipt number", html`<code>${id}</code>`],
    ["Paid", exactMoment(paidAt)],
    ["From", lines(from)],
    ["Billed to", lines(to)],
    ["Description", "Prepaid credit"],
    ["Amount", html`<strong>${exactAmount(amountNanoUsd)} ${currency.toUpperCase()}</strong>`],
    ["Payment method", html`${paymentProviderName(provider)}, ${providerChargeId ?? providerPaymentId}`],
  ];
  if (refundedNanoUsd > 0n) facts.push(["Refunded", html`${exactAmount(refundedNanoUsd)} ${currency.toUpperCase()}`]);
  if (disputedNanoUsd > 0n) facts.push(["Disputed", html`${exactAmount(disputedNanoUsd)} ${currency.toUpperCase()}`]);
  const body = html`<p class="crumb"><a href="/dashboard/billing">Billing</a></p>
    <div class="title">
      <h1>Receipt</h1>
      <a class="button" href="/dashboard/billing/receipts/${id}">Download PDF</a>
    </div>
    <div class="card">
      <dl class="facts">!${factTerms(facts)}</dl>
      <p class="muted small">
        ${provider === "test" ? "A test payment: no money was charged." : "The payment provider issues the tax invoice, if there is one."}
      </p>
    </div>`;
  return layout({ title: "Receipt", visitor, path: "/dashboard/billing", body, isNarrow: true });
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => html`${text}`).join("<br />");
}
