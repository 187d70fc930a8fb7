import { html } from "ghtml";
import type { ActionFilter, ListedActionOfAll } from "../../../ledger/people/audit.ts";
import type { Member } from "../../session/visitor.ts";
import { actionSelect } from "../audit/action-select.ts";
import { actionTable, BY } from "../audit/action-table.ts";
import { empty } from "../empty.ts";
import { field } from "../field.ts";
import { clipped } from "../responsive-table.ts";
import { olderLink } from "../older-link.ts";
import { adminPage } from "./admin.ts";

const PATH = "/dashboard/admin/audit";

export interface AdminAuditView {
  visitor: Member;
  actions: readonly ListedActionOfAll[];
  filter: ActionFilter;
  next: string | null;
}

export function adminAuditPage({ visitor, actions, filter, next }: AdminAuditView): string {
  const list = actionTable(actions, { before: [BY], after: [{ head: "Account", cell: accountLink }] });
  const body = html`<h1>Audit log</h1>
    !${filterForm(filter)} !${actions.length === 0 ? empty("No matching actions") : list}
    !${next === null ? "" : olderLink(PATH, { ...queryOf(filter), before: next }, "Older actions")}`;
  return adminPage({ title: "Audit log", visitor, path: PATH, body });
}

function filterForm(filter: ActionFilter): string {
  const form = { values: queryOf(filter), problems: {} };
  return html`<form method="get" action="${PATH}" class="card stack">
    <div class="grid">
      !${field({ name: "account", label: "Account ID" }, form)}
      !${field({ name: "person", label: "Person", placeholder: "ada@example.com" }, form)}
      <div class="field">
        <label for="action">Action</label>
        !${actionSelect(filter.action)}
      </div>
      !${field({ name: "from", label: "From (UTC)", type: "date" }, form)}
      !${field({ name: "to", label: "To (UTC)", type: "date" }, form)}
    </div>
    <div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div>
  </form>`;
}

/** The filter as in a page's address. */
function queryOf({ accountId, person, action, fromDay, toDay }: ActionFilter): Record<string, string> {
  const values = { account: accountId, person, action, from: fromDay, to: toDay };
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function accountLink({ accountId }: ListedActionOfAll): string {
  return accountId === null ? "–" : html`<a href="/dashboard/admin/accounts/${accountId}">!${clipped(accountId)}</a>`;
}
