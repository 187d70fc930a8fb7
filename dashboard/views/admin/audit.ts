import { html } from "ghtml";
import type { ListedActionOfAll } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { adminPage, olderLink } from "./admin.ts";

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
        <label for="account">Account ID</label>
        <input type="text" id="account" name="account" value="${account ?? ""}" aria-describedby="account-help" />
        <p class="help" id="account-help">Leave empty for all accounts.</p>
      </div>
      <button>Filter</button>
    </form>
    !${actions.length === 0 ? empty("No matching actions") : table(actions)}
    !${next === null ? "" : olderLink(PATH, { ...kept, before: next }, "Older actions")}`;
  return adminPage({ title: "Audit log", visitor, path: PATH, body });
}

function table(actions: readonly ListedActionOfAll[]): string {
  const rows = actions.map(
    ({ id, by, action, subject, accountId }) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(new Date(msOfId(id)))}</th>
        <td data-label="By">!${clipped(by ?? "–")}</td>
        <td data-label="Action"><code>${action}</code></td>
        <td data-label="Subject">!${clipped(subject)}</td>
        <td data-label="Account">
          !${accountId === null ? "–" : html`<a href="/dashboard/admin/accounts/${accountId}">!${clipped(accountId)}</a>`}
        </td>
      </tr>`,
  );
  return responsiveTable(["Time", "By", "Action", "Subject", "Account"], rows, "widest");
}
