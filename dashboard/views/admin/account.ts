import { html } from "ghtml";
import { promptTokensOf } from "../../../contract/usage.ts";
import type { Account, Balance } from "../../../ledger/accounts/accounts.ts";
import type { EntryPage, ListedEntry } from "../../../ledger/credit/entry-list.ts";
import type { KeyPage, ListedKey } from "../../../ledger/keys/key-list.ts";
import type { Member as AccountMember } from "../../../ledger/people/members.ts";
import type { Payment } from "../../../ledger/payments/payments.ts";
import type { UsageByModel } from "../../../ledger/usage/reports.ts";
import { addUsage, NO_USAGE_SUMS, type UsageSums } from "../../../ledger/usage/sums.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { olderLink } from "../older-link.ts";
import { unitColumns } from "../unit-columns.ts";
import { adminPage } from "./admin.ts";
import { confirmPage } from "../confirm.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { ENTRY_KINDS } from "../entry-kinds.ts";
import { compactCell, figure, usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { bookedDay, moment } from "../time.ts";
import { roleName } from "../role-names.ts";

export interface AdminAccountView {
  visitor: Member;
  account: Account;
  balance: Balance;
  members: readonly AccountMember[];
  keys: KeyPage;
  page: EntryPage;
  /** Of the last 30 days, by model. */
  usage: readonly UsageByModel[];
  /** The newest first. */
  payments: readonly Payment[];
  /** Cursor of the next page; null on the last page. */
  nextPayment: string | null;
  grant: FormState;
  adjust: FormState;
  /** Of the forms on this page. */
  attemptId: string;
}

export function adminAccountPage(view: AdminAccountView): string {
  const { visitor, account, balance, members, keys, page, usage, payments, nextPayment } = view;
  const path = `/dashboard/admin/accounts/${account.id}`;
  const body = html`<div class="title">
      <h1>${account.name}</h1>
      !${statusForm(account, path, visitor.csrf)}
    </div>
    <p class="muted">
      <code>${account.id}</code> <span class="badge ${account.status}">${account.status}</span> Created
      !${moment(account.createdAt)} · <a href="/dashboard/admin/audit?account=${account.id}">Audit log</a> ·
      <a href="${path}/limits">Limits</a> · <a href="${path}/refund" data-dialog>Refund a request</a>
    </p>
    <div class="cards">
      !${figure({ name: "Balance", value: usd(balance.postedNanoUsd), note: html`Held: up to !${usd(balance.leasedNanoUsd)}. Overdraft limit: !${usd(balance.overdraftNanoUsd)}.` })}
      !${grantForm(view, path)} !${adjustForm(view, path)}
    </div>
    <h2>Usage, last 30 days</h2>
    !${usage.length === 0 ? empty("No requests in the last 30 days") : usageTable(usage)}
    <h2>Payments</h2>
    !${payments.length === 0 ? empty("No payments") : paymentTable(payments)}
    !${nextPayment === null ? "" : olderLink(path, { payment: nextPayment }, "Older payments")}
    <h2>Members</h2>
    !${members.length === 0 ? empty("No members") : memberTable(members)}
    <h2>Keys</h2>
    !${keys.keys.length === 0 ? empty("No API keys") : keyTable(keys.keys)}
    !${keys.next === null ? "" : olderLink(path, { key: keys.next }, "Older keys")}
    <h2>Credit history</h2>
    !${page.entries.length === 0 ? empty("No credit added yet") : entryTable(page.entries)}
    !${page.next === null ? "" : olderLink(path, { after: String(page.next) }, "Older entries")}`;
  return adminPage({ title: account.name, visitor, path, body });
}

function statusForm({ status }: Account, path: string, csrf: string): string {
  if (status === "active") return html`<a class="button danger" href="${path}/suspend" data-dialog>Suspend</a>`;
  return html`<form method="post" action="${path}/resume">!${csrfField(csrf)}<button class="primary">Reactivate</button></form>`;
}

export function confirmSuspendPage({ visitor, account }: { visitor: Member; account: Account }): string {
  const path = `/dashboard/admin/accounts/${account.id}`;
  return confirmPage({
    visitor,
    path: "/dashboard/admin",
    title: `Suspend ${account.name}?`,
    body: html`<p>Its keys are refused within a second, and it cannot make payments. Members can still sign in and read.</p>`,
    action: `${path}/suspend`,
    button: "Suspend account",
    cancel: path,
  });
}

function grantForm({ visitor, grant, attemptId }: AdminAccountView, path: string): string {
  return html`<form method="post" action="${path}/grant" class="card stack">
    <h2>Grant credit</h2>
    !${formProblem(grant)} !${hidden(visitor, attemptId)}
    !${field({ name: "amount", label: "Amount (USD)", inputMode: "decimal", isRequired: true }, grant)}
    !${field({ name: "reason", label: "Reason", help: "Visible to the account.", isRequired: true }, grant)}
    !${field({ name: "expires", label: "Expires", type: "date", help: "Optional. Unused credit is removed after this day (UTC)." }, grant)}
    <button>Grant</button>
  </form>`;
}

function adjustForm({ visitor, adjust, attemptId }: AdminAccountView, path: string): string {
  return html`<form method="post" action="${path}/adjust" class="card stack">
    <h2>Adjust balance</h2>
    !${formProblem(adjust)} !${hidden(visitor, attemptId)}
    !${field({ name: "amount", label: "Amount (USD)", help: "Negative to deduct.", id: "adjust-amount", isRequired: true }, adjust)}
    !${field({ name: "reason", label: "Reason", id: "adjust-reason", help: "Visible to the account.", isRequired: true }, adjust)}
    <button>Adjust</button>
  </form>`;
}

function hidden({ csrf }: Member, attemptId: string): string {
  return html`!${csrfField(csrf)}<input type="hidden" name="attempt" value="${attemptId}" />`;
}

function usageTable(models: readonly UsageByModel[]): string {
  const total = { ...models.reduce<UsageSums>(addUsage, NO_USAGE_SUMS), model: "Total" };
  const units = unitColumns([total]);
  const rows = [...models, ...(models.length > 1 ? [total] : [])].map(
    ({ model, requests, outputTokens, chargeNanoUsd, ...sums }) =>
      html`<tr>
        <th scope="row" data-label="Model">!${clipped(model)}</th>
        <td data-label="Requests" class="number">${requests.toLocaleString("en-US")}</td>
        <td data-label="Input tokens" class="number">!${compactCell(promptTokensOf(sums))}</td>
        <td data-label="Output tokens" class="number">!${compactCell(outputTokens)}</td>
        !${units.map(({ head, of }) => html`<td data-label="${head}" class="number">!${compactCell(of(sums))}</td>`).join("")}
        <td data-label="Charged" class="number">!${usd(chargeNanoUsd)}</td>
      </tr>`,
  );
  const names = ["Requests", "Input tokens", "Output tokens", ...units.map(({ head }) => head), "Charged"];
  return responsiveTable(["Model", ...names.map((number) => ({ number }))], rows, names.length > 6 ? "whole" : "wide");
}

function paymentTable(payments: readonly Payment[]): string {
  const rows = payments.map(
    ({ createdAt, status, provider, providerPaymentId, amountNanoUsd, refundedNanoUsd, disputedNanoUsd }) =>
      html`<tr>
        <th scope="row" data-label="Started">!${moment(createdAt)}</th>
        <td data-label="Status"><span class="badge ${status === "paid" ? "active" : ""}">${status}</span></td>
        <td data-label="Payment ID">!${clipped(`${provider}: ${providerPaymentId}`)}</td>
        <td data-label="Returned" class="number">!${usd(refundedNanoUsd + disputedNanoUsd)}</td>
        <td data-label="Amount" class="number">!${usd(amountNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Started", "Status", "Payment ID", { number: "Returned" }, { number: "Amount" }], rows, "wide");
}

function memberTable(members: readonly AccountMember[]): string {
  const rows = members.map(
    ({ email, name, role, since }) =>
      html`<tr>
        <th scope="row" data-label="Email">!${clipped(email)}</th>
        <td data-label="Name">!${clipped(name)}</td>
        <td data-label="Role">${roleName(role)}</td>
        <td data-label="Joined">!${moment(since)}</td>
      </tr>`,
  );
  return responsiveTable(["Email", "Name", "Role", "Joined"], rows);
}

function keyTable(keys: readonly ListedKey[]): string {
  const rows = keys.map(
    ({ name, masked, status, lastUsedAt, spentNanoUsd }) =>
      html`<tr>
        <th scope="row" data-label="Name">!${clipped(name)}</th>
        <td data-label="Key"><code>${masked}</code></td>
        <td data-label="Status"><span class="badge ${status}">${status}</span></td>
        <td data-label="Last used">!${lastUsedAt === null ? "Never" : moment(lastUsedAt)}</td>
        <td data-label="Spend" class="number">!${usd(spentNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Name", "Key", "Status", "Last used", { number: "Spend" }], rows);
}

function entryTable(entries: readonly ListedEntry[]): string {
  const rows = entries.map(
    ({ kind, amountNanoUsd, reference, note, createdAt }) =>
      html`<tr>
        <th scope="row" data-label="Date (UTC)">!${bookedDay(createdAt)}</th>
        <td data-label="Type">${ENTRY_KINDS[kind]}</td>
        <td data-label="Note">!${clipped(note ?? "–")}</td>
        <td data-label="Reference"><code>!${clipped(reference)}</code></td>
        <td data-label="Amount" class="number">!${usd(amountNanoUsd, "cents", { isSigned: true })}</td>
      </tr>`,
  );
  return responsiveTable(["Date (UTC)", "Type", "Note", "Reference", { number: "Amount" }], rows, "wide");
}
