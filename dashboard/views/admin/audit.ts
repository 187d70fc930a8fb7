import { html } from "ghtml";
import { ACTION_CATEGORIES, type ActionFilter, type ListedActionOfAll } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { field } from "../field.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { adminPage, olderLink } from "./admin.ts";

const PATH = "/dashboard/admin/audit";

export interface AdminAuditView {
  visitor: Member;
  actions: readonly ListedActionOfAll[];
  filter: ActionFilter;
  next: string | null;
}

export function adminAuditPage({ visitor, actions, filter, next }: AdminAuditView): string {
  const body = html`<h1>Audit log</h1>
    !${filterForm(filter)} !${actions.length === 0 ? empty("No matching actions") : table(actions)}
    !${next === null ? "" : olderLink(PATH, { ...queryOf(filter), before: next }, "Older actions")}`;
  return adminPage({ title: "Audit log", visitor, path: PATH, body });
}

function filterForm(filter: ActionFilter): string {
  const { category } = filter;
  const form = { values: queryOf(filter), problems: {} };
  const options = ACTION_CATEGORIES.map(
    (each) => html`<option value="${each}" !${each === category ? "selected" : ""}>${each}</option>`,
  );
  return html`<form method="get" action="${PATH}" class="card stack">
    <div class="grid">
      !${field({ name: "account", label: "Account ID" }, form)}
      !${field({ name: "person", label: "Person", placeholder: "ada@example.com" }, form)}
      <div class="field">
        <label for="category">Action</label>
        <select id="category" name="category">
          <option value="">All actions</option>
          !${options.join("")}
        </select>
      </div>
      !${field({ name: "from", label: "From (UTC)", type: "date" }, form)}
      !${field({ name: "to", label: "To (UTC)", type: "date" }, form)}
    </div>
    <div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div>
  </form>`;
}

/** What the filter says, as a page's address says it. */
function queryOf({ accountId, person, category, fromDay, toDay }: ActionFilter): Record<string, string> {
  const values = { account: accountId, person, category, from: fromDay, to: toDay };
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
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
  return responsiveTable(["Time", "By", "Action", "Subject", "Account"], rows, "wide");
}
