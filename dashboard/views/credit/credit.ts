import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { EntryPage, ListedEntry } from "../../../ledger/credit/entry-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { autoTopUpSection, type AutoTopUpView } from "./auto-top-up.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { empty } from "../empty.ts";
import { ENTRY_KINDS } from "../entry-kinds.ts";
import { figure, usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { bookedDay } from "../time.ts";

export interface CreditView {
  visitor: Member;
  balance: Balance;
  page: EntryPage;
  form: FormState;
  /** Whether there is a payment provider. */
  canPay: boolean;
  /** The threshold of the owners' alert; null if no mail can be sent. */
  alert: { thresholdNanoUsd: bigint | null } | null;
  /** null if payments are not possible. */
  autoTopUp: AutoTopUpView | null;
  /** The visitor returns from the provider's page, after saving a card. */
  isCardSaved: boolean;
}

export function creditPage({ visitor, balance, page, form, canPay, alert, autoTopUp, isCardSaved }: CreditView): string {
  const { role, isSuspended } = visitor.membership;
  const body = html`<div class="title">
      <h1>Credit</h1>
      !${canPay && isAllowed(role, "addCredit") && !isSuspended ? html`<a class="button primary" href="/dashboard/credit/top-up">Add credit</a>` : ""}
    </div>
    !${isCardSaved ? html`<p role="status">Card saved. It may take a few seconds to show below: reload this page if it does not.</p>` : ""}
    <div class="cards">
      !${figure({ name: "Balance", value: usd(balance.postedNanoUsd), note: held(balance) })}
      !${isAllowed(role, "addCredit") ? redeem(visitor, form) : ""}
      !${isAllowed(role, "setAlert") && alert !== null ? alertForm(visitor, form, alert) : ""}
    </div>
    !${autoTopUp === null || !isAllowed(role, "addCredit") ? "" : autoTopUpSection(visitor, form, autoTopUp)}
    <h2>History</h2>
    <p class="muted">Charges for requests are under <a href="/dashboard/usage">Usage</a>.</p>
    !${page.entries.length === 0 ? empty("No credit added yet") : table(page.entries)}
    !${page.next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/credit?after=${page.next}">Older entries</a></p>`}`;
  return layout({ title: "Credit", visitor, path: "/dashboard/credit", body });
}

function held({ leasedNanoUsd }: Balance): string {
  if (leasedNanoUsd === 0n) return "Nothing is reserved for requests.";
  return html`Up to !${usd(leasedNanoUsd)} is reserved for running and upcoming requests.`;
}

function redeem({ csrf }: Member, form: FormState): string {
  return html`<form method="post" action="/dashboard/credit/redeem" class="card stack">
    !${formProblem(form)} !${csrfField(csrf)}
    !${field({ name: "code", label: "Redeem a code", help: "Case, spaces and dashes are ignored.", isRequired: true }, form)}
    <button>Redeem</button>
  </form>`;
}

function alertForm({ csrf }: Member, form: FormState, { thresholdNanoUsd }: NonNullable<CreditView["alert"]>): string {
  const threshold = thresholdNanoUsd === null ? "" : formatNanoUsd(thresholdNanoUsd).replace(/0{1,7}$/, "");
  const shown = "threshold" in form.values ? form : { ...form, values: { ...form.values, threshold } };
  return html`<form method="post" action="/dashboard/credit/alert" class="card stack">
    !${csrfField(csrf)}
    !${field({ name: "threshold", label: "Low-balance alert (USD)", help: "Owners get an email each time the balance falls below this. Leave empty to turn it off.", inputMode: "decimal" }, shown)}
    <button>Save</button>
  </form>`;
}

/** @param reference of a payment's entry: "payment:" and the payment's id. */
function receiptOf(reference: string): string {
  const [, id] = reference.split(":");
  return `/dashboard/credit/receipts/${id}`;
}

function table(entries: readonly ListedEntry[]): string {
  const rows = entries.map(
    ({ kind, amountNanoUsd, reference, note, createdAt }) =>
      html`<tr>
        <th scope="row" data-label="Date (UTC)">!${bookedDay(createdAt)}</th>
        <td data-label="Type">
          <span>${ENTRY_KINDS[kind]}!${kind === "topup" ? html` · <a href="${receiptOf(reference)}">Receipt</a>` : ""}</span>
        </td>
        <td data-label="Note">!${clipped(note ?? "")}</td>
        <td data-label="Amount" class="number">!${usd(amountNanoUsd, "cents", { isSigned: true })}</td>
      </tr>`,
  );
  return responsiveTable(["Date (UTC)", "Type", "Note", { number: "Amount" }], rows);
}
