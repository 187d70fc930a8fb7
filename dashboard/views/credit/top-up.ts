import { html } from "ghtml";
import type { Payment } from "../../../ledger/payments/payments.ts";
import type { FormState } from "../../form.ts";
import { showUsd } from "../../money.ts";
import { isAllowed } from "../../permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { csrfField, layout } from "../layout.ts";
import { moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

const STATUS: Record<Payment["status"], string> = {
  pending: "not paid yet",
  paid: "paid",
  refunded: "returned",
  disputed: "disputed",
  failed: "not paid",
};

export interface TopUpView {
  visitor: Member;
  form: FormState;
  payments: readonly Payment[];
  /** Does no money move? */
  isTest: boolean;
  attemptId: string;
  /** From the provider's page, after paying. */
  isBack: boolean;
}

export function topUpPage({ visitor, form, payments, isTest, attemptId, isBack }: TopUpView): string {
  const body = html`<p class="small"><a href="/dashboard/credit">Credit</a></p>
    <h1>Add credit</h1>
    !${isBack ? html`<p role="status">Thank you. Where the payment is not shown as paid yet, load this page again in a few seconds.</p>` : ""}
    !${!isAllowed(visitor.membership.role, "addCredit") || visitor.membership.isSuspended ? "" : topUp({ visitor, form, isTest, attemptId })}
    <h2>Payments</h2>
    <p class="muted">A payment shows as credit as soon as the provider has told of it: most take a few seconds.</p>
    !${payments.length === 0 ? html`<div class="card empty"><p>Nothing was paid yet.</p></div>` : table(payments)}`;
  return layout({ title: "Add credit", visitor, path: "/dashboard/credit", body });
}

function topUp({ visitor, form, isTest, attemptId }: Omit<TopUpView, "payments" | "isBack">): string {
  const help = isTest ? "A test: no money moves." : "You pay on Stripe's page; no card number comes near this service.";
  return html`<form method="post" action="/dashboard/credit/top-up" class="card stack">
    !${formProblem(form)} !${csrfField(visitor.csrf)}
    <input type="hidden" name="attempt" value="${attemptId}" />
    !${field({ name: "amount", label: "Amount in USD", help, inputMode: "decimal", placeholder: "20.00", isRequired: true }, form)}
    <button class="primary">Go on to pay</button>
  </form>`;
}

function table(payments: readonly Payment[]): string {
  const rows = payments.map(
    (payment) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(payment.createdAt)}</th>
        <td data-label="Status">
          <span class="badge !${payment.status === "paid" ? "active" : ""}">${STATUS[payment.status]}</span>
        </td>
        <td data-label="Amount" class="number">${showUsd(payment.amountNanoUsd)}</td>
        <td data-label="Returned" class="number">${showUsd(payment.refundedNanoUsd + payment.disputedNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Time", "Status", { number: "Amount" }, { number: "Returned or disputed" }], rows);
}
