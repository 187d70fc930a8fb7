import { html } from "ghtml";
import type { Account, Balance } from "../../../ledger/accounts/accounts.ts";
import type { EntryPage, ListedEntry } from "../../../ledger/credit/entry-list.ts";
import type { KeyPage, ListedKey } from "../../../ledger/keys/key-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { Member as AccountMember } from "../../../ledger/people/members.ts";
import type { FormState } from "../../form.ts";
import { showUsd } from "../../money.ts";
import type { Member } from "../../session/visitor.ts";
import { adminPage, emptyCard, olderLink } from "./admin.ts";
import { ENTRY_KINDS } from "../credit/credit.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../layout.ts";
import { moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

export interface AdminAccountView {
  visitor: Member;
  account: Account;
  balance: Balance;
  members: readonly AccountMember[];
  keys: KeyPage;
  page: EntryPage;
  grant: FormState;
  adjust: FormState;
  /** Of the forms on this page. */
  attemptId: string;
}

export function adminAccountPage(view: AdminAccountView): string {
  const { visitor, account, balance, members, keys, page } = view;
  const path = `/dashboard/admin/accounts/${account.id}`;
  const body = html`<div class="title">
      <h1>${account.name}</h1>
      !${statusForm(account, path, visitor.csrf)}
    </div>
    <p class="muted">
      <code>${account.id}</code>, <span class="badge ${account.status}">${account.status}</span>, made
      !${moment(account.createdAt)},
      <a href="/dashboard/admin/audit?account=${account.id}">audit log</a>
    </p>
    <div class="cards">
      <div class="card figure">
        <h2>Balance</h2>
        <p class="value">${showUsd(balance.postedNanoUsd)}</p>
        <p class="muted small">
          Held at most: ${showUsd(balance.leasedNanoUsd)}. Overdraft: ${showUsd(balance.overdraftNanoUsd)}.
        </p>
      </div>
      !${grantForm(view, path)} !${adjustForm(view, path)}
    </div>
    <h2>Members</h2>
    !${members.length === 0 ? emptyCard("Nobody signs in to this account.") : memberTable(members)}
    <h2>Keys</h2>
    !${keys.keys.length === 0 ? emptyCard("There is no key.") : keyTable(keys.keys)}
    !${keys.next === null ? "" : olderLink(path, { key: keys.next }, "Older keys")}
    <h2>Entries</h2>
    !${page.entries.length === 0 ? emptyCard("No credit was added yet.") : entryTable(page.entries)}
    !${page.next === null ? "" : olderLink(path, { after: String(page.next) }, "Older entries")}`;
  return adminPage({ title: account.name, visitor, path, body });
}

function statusForm({ status }: Account, path: string, csrf: string): string {
  const [verb, words, look] = status === "active" ? ["suspend", "Suspend", "danger"] : ["resume", "Let it work again", "primary"];
  return html`<form method="post" action="${path}/${verb}">!${csrfField(csrf)}<button class="${look}">${words}</button></form>`;
}

function grantForm({ visitor, grant, attemptId }: AdminAccountView, path: string): string {
  return html`<form method="post" action="${path}/grant" class="card stack">
    <h2>Grant credit</h2>
    !${formProblem(grant)} !${hidden(visitor, attemptId)}
    !${field({ name: "amount", label: "USD", inputMode: "decimal", isRequired: true }, grant)}
    !${field({ name: "reason", label: "Reason", help: "The account sees it.", isRequired: true }, grant)}
    !${field({ name: "expires", label: "Last day", type: "date", help: "What is left then is taken back. Days are UTC." }, grant)}
    <button>Grant</button>
  </form>`;
}

function adjustForm({ visitor, adjust, attemptId }: AdminAccountView, path: string): string {
  return html`<form method="post" action="${path}/adjust" class="card stack">
    <h2>Adjust the balance</h2>
    !${formProblem(adjust)} !${hidden(visitor, attemptId)}
    !${field({ name: "amount", label: "USD, with a minus to take away", id: "adjust-amount", isRequired: true }, adjust)}
    !${field({ name: "reason", label: "Reason", id: "adjust-reason", help: "The account sees it.", isRequired: true }, adjust)}
    <button>Adjust</button>
  </form>`;
}

function hidden({ csrf }: Member, attemptId: string): string {
  return html`!${csrfField(csrf)}<input type="hidden" name="attempt" value="${attemptId}" />`;
}

function memberTable(members: readonly AccountMember[]): string {
  const rows = members.map(
    ({ email, name, role, since }) =>
      html`<tr>
        <th scope="row" data-label="E-mail">${email}</th>
        <td data-label="Name">${name}</td>
        <td data-label="Role">${role}</td>
        <td data-label="Since">!${moment(since)}</td>
      </tr>`,
  );
  return responsiveTable(["E-mail", "Name", "Role", "Since"], rows);
}

function keyTable(keys: readonly ListedKey[]): string {
  const rows = keys.map(
    ({ name, masked, status, lastUsedAt, spentNanoUsd }) =>
      html`<tr>
        <th scope="row" data-label="Name">${name}</th>
        <td data-label="Key"><code>${masked}</code></td>
        <td data-label="Status"><span class="badge ${status}">${status}</span></td>
        <td data-label="Last used">!${lastUsedAt === null ? "never" : moment(lastUsedAt)}</td>
        <td data-label="Spent" class="number">${showUsd(spentNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Name", "Key", "Status", "Last used", { number: "Spent" }], rows);
}

function entryTable(entries: readonly ListedEntry[]): string {
  const rows = entries.map(
    ({ kind, amountNanoUsd, reference, note, createdAt }) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(createdAt)}</th>
        <td data-label="What">${ENTRY_KINDS[kind]}</td>
        <td data-label="Note">${note ?? "–"}</td>
        <td data-label="Reference"><code class="small">${reference}</code></td>
        <td data-label="USD" class="number">${formatNanoUsd(amountNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Time", "What", "Note", "Reference", { number: "USD" }], rows);
}
