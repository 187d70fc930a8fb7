import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { EntryPage, ListedEntry } from "../../../ledger/credit/entry-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { FormState } from "../../form.ts";
import { showUsd } from "../../money.ts";
import { isAllowed } from "../../permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { autoTopUpSection, type AutoTopUpView } from "./auto-top-up.ts";
import { field, formProblem } from "../field.ts";
import { csrfField, layout } from "../layout.ts";
import { moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

export const ENTRY_KINDS: Record<ListedEntry["kind"], string> = {
  grant: "Granted",
  topup: "Paid",
  adjust: "Adjusted",
  refund: "Refund of a charge",
  code: "Code redeemed",
  expire: "Grant expired",
  payment_refund: "Payment returned",
  dispute: "Payment disputed",
};

export interface CreditView {
  visitor: Member;
  balance: Balance;
  page: EntryPage;
  form: FormState;
  /** Is there a payment provider? */
  canPay: boolean;
  /** When the owners are told that it runs out; null where nobody can be written to. */
  alert: { thresholdNanoUsd: bigint | null } | null;
  /** null where nobody can pay. */
  autoTopUp: AutoTopUpView | null;
  /** From the provider's page, after saving a card. */
  isCardSaved: boolean;
}

export function creditPage({ visitor, balance, page, form, canPay, alert, autoTopUp, isCardSaved }: CreditView): string {
  const { role, isSuspended } = visitor.membership;
  const body = html`<div class="title">
      <h1>Credit</h1>
      !${canPay && isAllowed(role, "addCredit") && !isSuspended ? html`<a class="button primary" href="/dashboard/credit/top-up">Add credit</a>` : ""}
    </div>
    !${isCardSaved ? html`<p role="status">Thank you. Where the card does not show below yet, load this page again in a few seconds.</p>` : ""}
    <div class="cards">
      <div class="card figure">
        <h2>Balance</h2>
        <p class="value">${showUsd(balance.postedNanoUsd)}</p>
        <p class="muted small">Of it, ${showUsd(balance.leasedNanoUsd)} are set aside at most for requests that run now.</p>
      </div>
      !${isAllowed(role, "addCredit") ? redeem(visitor, form) : ""}
      !${isAllowed(role, "setAlert") && alert !== null ? alertForm(visitor, form, alert) : ""}
    </div>
    !${autoTopUp === null || !isAllowed(role, "addCredit") ? "" : autoTopUpSection(visitor, form, autoTopUp)}
    <h2>History</h2>
    <p class="muted">What requests cost is under <a href="/dashboard/usage">Billing &amp; Usage</a>.</p>
    !${page.entries.length === 0 ? html`<div class="card empty"><p>No credit was added yet.</p></div>` : table(page.entries)}
    !${page.next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/credit?after=${page.next}">Older entries</a></p>`}`;
  return layout({ title: "Credit", visitor, path: "/dashboard/credit", body });
}

function redeem({ csrf }: Member, form: FormState): string {
  return html`<form method="post" action="/dashboard/credit/redeem" class="card stack">
    !${formProblem(form)} !${csrfField(csrf)}
    !${field({ name: "code", label: "Redeem a code", help: "Capitals, spaces and dashes do not matter.", isRequired: true }, form)}
    <button>Redeem</button>
  </form>`;
}

function alertForm({ csrf }: Member, form: FormState, { thresholdNanoUsd }: NonNullable<CreditView["alert"]>): string {
  const threshold = thresholdNanoUsd === null ? "" : formatNanoUsd(thresholdNanoUsd).replace(/0{1,7}$/, "");
  const shown = "threshold" in form.values ? form : { ...form, values: { ...form.values, threshold } };
  return html`<form method="post" action="/dashboard/credit/alert" class="card stack">
    !${csrfField(csrf)}
    !${field({ name: "threshold", label: "Mail the owners below, in USD", help: "Once, each time it falls below. Left empty, never.", inputMode: "decimal" }, shown)}
    <button>Save</button>
  </form>`;
}

/** @param reference of a payment's entry: "payment:" and the payment's id. */
function receiptOf(reference: string): string {
  return `/dashboard/credit/receipts/${reference.slice("payment:".length)}`;
}

function table(entries: readonly ListedEntry[]): string {
  const rows = entries.map(
    ({ kind, amountNanoUsd, reference, note, createdAt }) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(createdAt)}</th>
        <td data-label="What">
          <span>${ENTRY_KINDS[kind]}!${kind === "topup" ? html`, <a href="${receiptOf(reference)}">receipt</a>` : ""}</span>
        </td>
        <td data-label="Note">${note ?? ""}</td>
        <td data-label="Amount in USD" class="number">${amountNanoUsd > 0n ? "+" : ""}${formatNanoUsd(amountNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Time", "What", "Note", { number: "Amount in USD" }], rows);
}
