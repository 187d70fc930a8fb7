import { html } from "ghtml";
import type { ListedActionOfAll } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { Member } from "../../session/visitor.ts";
import { adminPage, emptyCard, olderLink } from "./admin.ts";
import { moment } from "../time.ts";

const PATH = "/dashboard/admin/audit";

export interface AdminAuditView {
  visitor: Member;
  actions: readonly ListedActionOfAll[];
  /** Only this account's. */
  account: string | undefined;
  next: string | null;
}

export function adminAuditPage({ visitor, actions, account, next }: AdminAuditView): string {
  const kept: Record<string, string> = account === undefined ? {} : { account };
  const body = html`<h1>Audit log</h1>
    <form method="get" action="${PATH}" class="card stack">
      <div class="field">
        <label for="account">Account id</label>
        <input type="text" id="account" name="account" value="${account ?? ""}" aria-describedby="account-help" />
        <p class="help" id="account-help">Left empty, all accounts.</p>
      </div>
      <button>Show</button>
    </form>
    !${actions.length === 0 ? emptyCard("Nothing was done yet.") : table(actions)}
    !${next === null ? "" : olderLink(PATH, { ...kept, before: next }, "Older actions")}`;
  return adminPage({ title: "Audit log", visitor, path: PATH, body });
}

function table(actions: readonly ListedActionOfAll[]): string {
  const rows = actions.map(
    ({ id, by, action, subject, accountId }) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(new Date(msOfId(id)))}</th>
        <td data-label="Who">${by ?? "–"}</td>
        <td data-label="What"><code>${action}</code></td>
        <td data-label="On">${subject}</td>
        <td data-label="Account">
          !${accountId === null ? "–" : html`<a href="/dashboard/admin/accounts/${accountId}">${accountId}</a>`}
        </td>
      </tr>`,
  );
  return html`<table class="responsive">
    <thead>
      <tr>
        <th scope="col">Time</th>
        <th scope="col">Who</th>
        <th scope="col">What</th>
        <th scope="col">On</th>
        <th scope="col">Account</th>
      </tr>
    </thead>
    <tbody>
      !${rows.join("")}
    </tbody>
  </table>`;
}
