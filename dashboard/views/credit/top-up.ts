import { html } from "ghtml";
import type { Payment } from "../../../ledger/payments/payments.ts";
import type { FormState } from "../../http/form.ts";
import { showUsd } from "../../money.ts";
import { MAX_TOP_UP, MIN_TOP_UP } from "../../payments/top-up-form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { empty } from "../empty.ts";
import { usd } from "../figures.ts";
import { responsiveTable } from "../responsive-table.ts";
import { bookedDay } from "../time.ts";

const STATUS: Record<Payment["status"], string> = {
  pending: "pending",
  paid: "paid",
  refunded: "refunded",
  disputed: "disputed",
  failed: "failed",
  other: "other",
};

export interface TopUpView {
  visitor: Member;
  form: FormState;
  payments: readonly Payment[];
  /** Whether payments are simulated. */
  isTest: boolean;
  attemptId: string;
  /** The balance, if the visitor returns from the provider's page after paying. */
  balanceNanoUsd: bigint | undefined;
}

export function topUpPage({ visitor, form, payments, isTest, attemptId, balanceNanoUsd }: TopUpView): string {
  const body = html`<p class="crumb"><a href="/dashboard/credit">Credit</a></p>
    <h1>Add credit</h1>
    !${balanceNanoUsd === undefined ? "" : html`<p role="status">Thank you. !${news(payments, balanceNanoUsd)}</p>`}
    !${!isAllowed(visitor.membership.role, "addCredit") || visitor.membership.isSuspended ? "" : topUp({ visitor, form, isTest, attemptId })}
    <h2>Payments</h2>
    <p class="muted">Credit is added as soon as the payment provider confirms the payment, usually within seconds.</p>
    !${payments.length === 0 ? empty("No payments yet") : table(payments)}`;
  return layout({ title: "Add credit", visitor, path: "/dashboard/credit", body });
}

/** The provider reports a payment about when it sends the visitor back. */
function news([newest]: readonly Payment[], balanceNanoUsd: bigint): string {
  return newest?.status === "paid"
    ? html`Your balance is now !${usd(balanceNanoUsd)}.`
    : "The payment may take a few seconds to show as paid: reload this page if it does not.";
}

function topUp({ visitor, form, isTest, attemptId }: Omit<TopUpView, "payments" | "balanceNanoUsd">): string {
  const how = isTest ? "Test mode: no money moves." : "You pay on Stripe's page. This service never sees your card number.";
  const help = `From ${showUsd(MIN_TOP_UP)} to ${showUsd(MAX_TOP_UP)}. ${how}`;
  return html`<form method="post" action="/dashboard/credit/top-up" class="card stack">
    !${formProblem(form)} !${csrfField(visitor.csrf)}
    <input type="hidden" name="attempt" value="${attemptId}" />
    !${field({ name: "amount", label: "Amount (USD)", help, inputMode: "decimal", placeholder: "20.00", isRequired: true }, form)}
    <button class="primary">Continue to payment</button>
  </form>`;
}

function table(payments: readonly Payment[]): string {
  const rows = payments.map(
    (payment) =>
      html`<tr>
        <th scope="row" data-label="Date (UTC)">!${bookedDay(payment.createdAt)}</th>
        <td data-label="Status">
          <span class="badge ${payment.status}">${STATUS[payment.status]}</span>
        </td>
        <td data-label="Amount" class="number">!${usd(payment.amountNanoUsd)}</td>
        <td data-label="Refunded or disputed" class="number">!${usd(payment.refundedNanoUsd + payment.disputedNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Date (UTC)", "Status", { number: "Amount" }, { number: "Refunded or disputed" }], rows, "narrow");
}
