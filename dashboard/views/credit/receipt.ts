import { html } from "ghtml";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { Payment } from "../../../ledger/payments/payments.ts";
import type { Member } from "../../session/visitor.ts";
import { layout } from "../layout.ts";
import { exactMoment } from "../time.ts";

export interface ReceiptView {
  visitor: Member;
  payment: Payment;
  paidAt: Date;
  publicBaseUrl: string;
}

export function receiptPage({ visitor, payment, paidAt, publicBaseUrl }: ReceiptView): string {
  const {
    id,
    accountId,
    amountNanoUsd,
    currency,
    provider,
    providerPaymentId,
    providerChargeId,
    refundedNanoUsd,
    disputedNanoUsd,
  } = payment;
  // Values are HTML.
  const facts: [string, string][] = [
    ["Receipt number", html`<code>${id}</code>`],
    ["Paid", exactMoment(paidAt)],
    ["Paid to", html`${new URL(publicBaseUrl).host}`],
    ["Account", html`${visitor.membership.accountName} (${accountId})`],
    ["Description", "Prepaid credit"],
    ["Amount", html`<strong>${dollars(amountNanoUsd)} ${currency.toUpperCase()}</strong>`],
    ["Payment method", html`${provider}, ${providerChargeId ?? providerPaymentId}`],
  ];
  if (refundedNanoUsd > 0n) facts.push(["Refunded", html`${dollars(refundedNanoUsd)} ${currency.toUpperCase()}`]);
  if (disputedNanoUsd > 0n) facts.push(["Disputed", html`${dollars(disputedNanoUsd)} ${currency.toUpperCase()}`]);
  const body = html`<p class="crumb"><a href="/dashboard/credit">Credits</a></p>
    <h1>Receipt</h1>
    <div class="card">
      <dl class="facts">
        !${facts
          .map(
            ([term, value]) =>
              html`<div>
                <dt>${term}</dt>
                <dd>!${value}</dd>
              </div>`,
          )
          .join("")}
      </dl>
      <p class="muted small">
        ${provider === "test" ? "A test payment: no money was charged." : "The payment provider issues the tax invoice, if there is one."}
      </p>
    </div>`;
  return layout({ title: "Receipt", visitor, path: "/dashboard/credit", body, isNarrow: true });
}

/** Cents, and more where there are more. */
function dollars(nanoUsd: bigint): string {
  return formatNanoUsd(nanoUsd).replace(/0{1,7}$/, "");
}
