import { html } from "ghtml";
import type { Budget } from "../../../ledger/budgets/budgets.ts";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import type { Member as AccountMember } from "../../../ledger/people/members.ts";
import type { NamedProject } from "../../../ledger/projects/project-list.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { limitBar } from "../limits/limit-bar.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";

export interface BudgetsView {
  visitor: Member;
  budgets: readonly Budget[];
  projects: readonly NamedProject[];
  keys: readonly NamedKey[];
  members: readonly AccountMember[];
  keepsEndUsers: boolean;
  form: FormState;
}

export const BUDGETS_PATH = "/dashboard/budgets";

export function budgetsPage(view: BudgetsView): string {
  const { visitor, budgets } = view;
  const maySet = isAllowed(visitor.membership.role, "setLimits");
  const body = html`<h1>Budgets</h1>
    <p class="muted">
      When spend in a calendar month (UTC) reaches 50, 80 or 100% of a budget, owners get an email, and
      <a href="/dashboard/webhook-endpoints">webhooks</a> can receive an event. Budgets never stop requests. To stop them, set a
      <a href="/dashboard/limits">limit</a>.
    </p>
    !${budgets.length === 0 ? empty("No budgets yet", { note: maySet ? "" : "Only owners of this account can set budgets." }) : table(budgets, maySet)}
    !${maySet ? budgetForm(view) : ""}`;
  return layout({ title: "Budgets", visitor, path: BUDGETS_PATH, body });
}

function table(budgets: readonly Budget[], maySet: boolean): string {
  const rows = budgets.map((budget) => {
    const name = nameOf(budget);
    const remove = html`<a
      class="danger"
      href="${BUDGETS_PATH}/${budget.id}/delete"
      data-dialog
      aria-label="Delete the budget of ${name}"
      >Delete</a
    >`;
    return html`<tr>
      <th scope="row" data-label="Covers">
        <span>!${clipped(name)}<span class="sub">${scopeOf(budget)}</span></span>
      </th>
      <td data-label="This month">!${limitBar({ used: budget.spentNanoUsd, limit: budget.amountNanoUsd, unit: "usd" })}</td>
      <td data-label="Alerts sent">${budget.reached.map((percent) => `${percent}%`).join(", ") || "None"}</td>
      !${maySet ? html`<td class="actions">!${rowMenu(name, [remove])}</td>` : ""}
    </tr>`;
  });
  return responsiveTable(["Covers", "This month", "Alerts sent", ...(maySet ? [{ hidden: "Actions" }] : [])], rows);
}

export function confirmBudgetPage({ visitor, budget }: { visitor: Member; budget: Budget }): string {
  return confirmPage({
    visitor,
    path: BUDGETS_PATH,
    title: "Delete this budget?",
    body: html`<p>${nameOf(budget)}: !${usd(budget.amountNanoUsd)} a month</p>
      <p>Its alerts stop. Requests are not affected.</p>`,
    action: `${BUDGETS_PATH}/${budget.id}/delete`,
    button: "Delete budget",
    cancel: BUDGETS_PATH,
  });
}

const SCOPES = {
  account: "All keys",
  project: "Keys of this project",
  key: "API key",
  member: "Keys that this member created",
  end_user: "By the end user of each request",
  other: "Other: no alerts are sent",
} as const;

function scopeOf({ scope, covers }: Budget): string {
  return scope === "end_user" && covers !== null ? `Highest: ${covers}` : SCOPES[scope];
}

function nameOf({ scope, covers }: Budget): string {
  if (scope === "end_user") return "Each end user";
  return scope === "account" ? "Account" : (covers ?? "–");
}

function budgetForm({ visitor, projects, keys, members, keepsEndUsers, form }: BudgetsView): string {
  const options: Option[] = [
    ["account", "Account: all keys"],
    ...(keepsEndUsers ? [["end_user", "Each end user"] satisfies Option] : []),
    ...projects.map(({ id, name }): Option => [`project:${id}`, `Project: ${name}`]),
    ...members.map(({ personId, email }): Option => [`member:${personId}`, `Member: ${email}`]),
    ...keys.map(({ publicId, name }): Option => [`key:${publicId}`, `Key: ${name}`]),
  ];
  return html`<form method="post" action="${BUDGETS_PATH}" class="card stack">
    <h2 id="set">Set a budget</h2>
    !${formProblem(form)} !${csrfField(visitor.csrf)}
    <div class="grid">
      !${choice({ name: "covered", label: "Covers", options }, form)}
      !${field({ name: "amount", label: "Monthly budget (USD)", inputMode: "decimal", placeholder: "100.00", isRequired: true }, form)}
    </div>
    <p class="help">If there is already a budget for this, it is replaced.</p>
    <button class="primary">Save budget</button>
  </form>`;
}
