import { html } from "ghtml";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import type { ListedProject } from "../../../ledger/projects/project-list.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { figure, grouped, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { limitBar } from "../limits/limit-bar.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { day } from "../time.ts";
import { counted } from "../../counted.ts";

export const PROJECTS_PATH = "/dashboard/projects";

export interface ProjectsView {
  visitor: Member;
  /** All of the account's, which are few. */
  projects: readonly ListedProject[];
  form: FormState;
}

/** From here on, the form below the list is out of sight. */
const LONG_LIST = 8;

export function projectsPage({ visitor, projects, form }: ProjectsView): string {
  const mayChange = isAllowed(visitor.membership.role, "manageProjects");
  const note = mayChange
    ? "Create one for each application, team or customer, then choose it in the settings of your keys."
    : "Only owners of this account can create projects.";
  const isLong = mayChange && projects.length >= LONG_LIST && projects.length < ACCOUNT_BOUNDS.projects;
  const body = html`<div class="title">
      <h1>Projects</h1>
      !${isLong ? html`<a class="button" href="#create">Create project</a>` : ""}
    </div>
    <p class="muted">
      Group API keys in projects to see their usage and set a budget for them. A key is in at most one project. If you move it,
      its past usage moves with it.
    </p>
    !${projects.length === 0 ? empty("No projects yet", { note }) : table(projects, mayChange)}
    !${mayChange ? createForm(visitor, projects, form) : ""}`;
  return layout({ title: "Projects", visitor, path: PROJECTS_PATH, body });
}

function table(projects: readonly ListedProject[], mayChange: boolean): string {
  const rows = projects.map((project) => {
    const { id, name, keys, spentThisMonthNanoUsd, budgetNanoUsd, createdAt, createdBy } = project;
    return html`<tr>
      <th scope="row" data-label="Name"><a href="${PROJECTS_PATH}/${id}">!${clipped(name)}</a></th>
      <td data-label="Keys" class="number"><a href="/dashboard/keys?project=${id}">${grouped(String(keys))}</a></td>
      <td data-label="Spend this month" class="number">
        <a href="/dashboard/usage/requests?range=month&project=${id}">!${usd(spentThisMonthNanoUsd)}</a>
      </td>
      <td data-label="Budget">
        !${budgetNanoUsd === null ? "None" : limitBar({ used: spentThisMonthNanoUsd, limit: budgetNanoUsd, unit: "usd" })}
      </td>
      <td data-label="Created" class="minor">
        <span>!${day(createdAt)}<span class="sub">!${clipped(createdBy)}</span></span>
      </td>
      !${mayChange ? html`<td class="actions">!${rowMenu(name, actions(project))}</td>` : ""}
    </tr>`;
  });
  return responsiveTable(
    [
      "Name",
      { number: "Keys" },
      { number: "Spend this month" },
      "Budget",
      { text: "Created", isMinor: true },
      ...(mayChange ? [{ hidden: "Actions" }] : []),
    ],
    rows,
    "wide",
  );
}

function actions({ id, name }: ListedProject): string[] {
  return [
    html`<a href="${PROJECTS_PATH}/${id}" aria-label="Rename ${name}">Rename</a>`,
    html`<a class="danger" href="${PROJECTS_PATH}/${id}/delete" data-dialog aria-label="Delete ${name}">Delete</a>`,
  ];
}

function createForm({ csrf }: Member, projects: readonly ListedProject[], form: FormState): string {
  if (projects.length >= ACCOUNT_BOUNDS.projects)
    return html`<p class="muted">
      This account has ${ACCOUNT_BOUNDS.projects} projects, the maximum. Delete one to create another.
    </p>`;
  return html`<form method="post" action="${PROJECTS_PATH}" class="card stack">
    <h2 id="create">Create a project</h2>
    !${formProblem(form)} !${csrfField(csrf)} !${field({ name: "name", label: "Name", isRequired: true }, form)}
    <button class="primary">Create project</button>
  </form>`;
}

export function projectPage({ visitor, project, form }: { visitor: Member; project: ListedProject; form: FormState }): string {
  const { id, name, keys, spentThisMonthNanoUsd } = project;
  const { role } = visitor.membership;
  const keysLink = html`<a href="/dashboard/keys?project=${id}">${counted(keys, "key")}</a>`;
  const rename = html`<form method="post" action="${PROJECTS_PATH}/${id}" class="card stack">
    <h2>Rename</h2>
    !${formProblem(form)} !${csrfField(visitor.csrf)} !${field({ name: "name", label: "Name", isRequired: true }, form)}
    <div class="buttons">
      <button class="primary">Save</button>
      <a class="button quiet" href="${PROJECTS_PATH}">Cancel</a>
    </div>
  </form>`;
  const body = html`<p class="crumb"><a href="${PROJECTS_PATH}">Projects</a></p>
    <h1>${name}</h1>
    <div class="cards">
      !${figure({ name: "Spend this month", value: usd(spentThisMonthNanoUsd), note: keysLink })}
      !${budgetFigure(project, isAllowed(role, "setLimits"))}
    </div>
    <p class="buttons">
      !${isAllowed(role, "manageKeys") ? html`<a class="button" href="/dashboard/keys/new?project=${id}">Create key</a>` : ""}
      <a class="button" href="/dashboard/usage?range=month&project=${id}">View usage</a>
      <a class="button" href="/dashboard/usage/requests?project=${id}">View logs</a>
    </p>
    !${isAllowed(role, "manageProjects") ? rename : ""}`;
  return layout({ title: name, visitor, path: PROJECTS_PATH, body, isNarrow: true });
}

function budgetFigure({ id, spentThisMonthNanoUsd, budgetNanoUsd }: ListedProject, maySet: boolean): string {
  const link = html`<a href="/dashboard/budgets?covered=project:${id}#set"
    >${budgetNanoUsd === null ? "Set a budget" : "Change budget"}</a
  >`;
  if (budgetNanoUsd === null) return figure({ name: "Monthly budget", value: "None", note: maySet ? link : "" });
  return html`<div class="card figure">
    <h2>Monthly budget</h2>
    !${limitBar({ used: spentThisMonthNanoUsd, limit: budgetNanoUsd, unit: "usd" })}
    !${maySet ? html`<p class="muted small">!${link}</p>` : ""}
  </div>`;
}

export function confirmProjectPage({ visitor, project }: { visitor: Member; project: ListedProject }): string {
  const { id, name } = project;
  return confirmPage({
    visitor,
    path: PROJECTS_PATH,
    title: "Delete this project?",
    body: html`<p>${name}</p>
      <p>Its budget is deleted too. Usage of its deleted keys stays in reports.</p>`,
    action: `${PROJECTS_PATH}/${id}/delete`,
    button: "Delete project",
    cancel: PROJECTS_PATH,
  });
}
