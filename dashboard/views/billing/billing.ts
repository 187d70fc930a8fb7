import { html } from "ghtml";
import type { BillingDetails } from "../../../ledger/billing/billing-details.ts";
import type { Payment } from "../../../ledger/payments/payments.ts";
import type { SavedCard } from "../../../ledger/payments/saved-cards.ts";
import { monthName } from "../../billing/statement.ts";
import { paymentProviderName } from "../../payments/provider-name.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { bookedDay } from "../time.ts";
import { billingDetailsCard } from "./details.ts";
import { paymentMethod } from "./payment-method.ts";

const PATH = "/dashboard/billing";

export interface BillingView {
  visitor: Member;
  form: FormState;
  details: BillingDetails | undefined;
  /** null if payments are not possible. */
  payment: { card: SavedCard | undefined } | null;
  /** The newest first. */
  months: readonly string[];
  /** Cursor of the next page; null on the last page. */
  nextMonth: string | null;
  /** Completed ones, the newest first. */
  payments: readonly Payment[];
  nextPayment: string | null;
}

export function billingPage(view: BillingView): string {
  const { visitor, form, details, payment, months, nextMonth, payments, nextPayment } = view;
  const body = html`<div class="title">
      <h1>Billing</h1>
      !${payment !== null && isAllowed(visitor.membership.role, "addCredit") ? html`<a class="button" href="/dashboard/credit">Manage credit</a>` : ""}
    </div>
    <div class="cards">
      !${billingDetailsCard(visitor, form, details)} !${payment === null ? "" : paymentMethod(visitor, payment.card)}
    </div>
    <h2 id="statements">Monthly statements</h2>
    <p class="muted">Usage by model, credits and balances of each month (UTC).</p>
    !${months.length === 0 ? empty("No statements yet") : statementTable(months)}
    !${nextMonth === null ? "" : html`<p class="more"><a class="button" href="${PATH}?until=${nextMonth}#statements">Older statements</a></p>`}
    <h2 id="payments">Payments</h2>
    !${payments.length === 0 ? empty("No payments yet") : paymentTable(payments)}
    !${nextPayment === null ? "" : html`<p class="more"><a class="button" href="${PATH}?before=${nextPayment}#payments">Older payments</a></p>`}`;
  return layout({ title: "Billing", visitor, path: PATH, body });
}

function statementTable(months: readonly string[]): string {
  const rows = months.map(
    (month) =>
      html`<tr>
        <th scope="row" data-label="Month">${monthName(month)}</th>
        <td data-label="Document">
          <a href="${PATH}/statements/${month}" aria-label="Statement of ${monthName(month)}, PDF">PDF</a>
        </td>
      </tr>`,
  );
  return responsiveTable(["Month", "Document"], rows, "narrow");
}

function paymentTable(payments: readonly Payment[]): string {
  const rows = payments.map(({ id, amountNanoUsd, currency, provider, status, paidAt, createdAt }) => {
    const day = (paidAt ?? createdAt).toISOString().slice(0, 10);
    return html`<tr>
      <th scope="row" data-label="Paid (UTC)">!${bookedDay(paidAt ?? createdAt)}</th>
      <td data-label="Amount" class="number"><span class="nowrap">!${usd(amountNanoUsd)} ${currency}</span></td>
      <td data-label="Status"><span class="badge ${BADGES[status]}">${status}</span></td>
      <td data-label="Provider">!${clipped(paymentProviderName(provider))}</td>
      <td data-label="Receipt">
        <span
          ><a href="/dashboard/credit/receipts/${id}" aria-label="View receipt of ${day}">View</a> ·
          <a href="${PATH}/receipts/${id}" aria-label="Receipt of ${day}, PDF">PDF</a></span
        >
      </td>
    </tr>`;
  });
  return responsiveTable(["Paid (UTC)", { number: "Amount" }, "Status", "Provider", "Receipt"], rows);
}

const BADGES: Record<Payment["status"], string> = {
  pending: "",
  paid: "active",
  refunded: "",
  disputed: "expired",
  failed: "expired",
  other: "",
};
