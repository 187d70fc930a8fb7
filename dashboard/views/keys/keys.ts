import { html } from "ghtml";
import type { KeyOrder, ListedKey } from "../../../ledger/keys/key-list.ts";
import type { NamedProject } from "../../../ledger/projects/project-list.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { grouped, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { day, moment } from "../time.ts";
import { spendLimits } from "./spend-limits.ts";

export interface KeysView {
  visitor: Member;
  search: string;
  sort: KeyOrder;
  /** Only keys in the project of this id. */
  project: string | undefined;
  projects: readonly NamedProject[];
  /** From 1. */
  page: number;
  keys: readonly ListedKey[];
  /** Number of matches on all pages. */
  total: number;
  /** Accounts may bring their own keys for providers. */
  takesProviderKeys?: boolean;
  /** HTML of a dialog over the page. */
  dialog?: string;
}

/** Keys per page. */
export const KEYS_PAGE = 50;
const PATH = "/dashboard/keys";
/** The form that disables selected keys; its fields are in the table. */
const BULK = "selected-keys";

export function keysPage(view: KeysView): string {
  const { visitor, search, project, keys, takesProviderKeys = false, dialog = "" } = view;
  const isFiltered = search !== "" || project !== undefined;
  const mayChange = isAllowed(visitor.membership.role, "manageKeys");
  const none = isFiltered ? empty("No matching keys", { note: "Try another project or part of the name." }) : noKeys(mayChange);
  const body = html`!${dialog}
    <div class="title">
      <h1>API keys</h1>
      <div class="buttons">!${takesProviderKeys ? PROVIDER_KEYS : ""} !${mayChange ? CREATE : ""}</div>
    </div>
    !${keys.length === 0 && !isFiltered ? "" : searchForm(view)} !${keys.length === 0 ? none : table(keys, visitor, mayChange)}
    !${mayChange && keys.length > 0 ? BULK_FORM : ""} !${pages(view)}`;
  return layout({ title: "API keys", visitor, path: PATH, body });
}

const CREATE = html`<a class="button primary" href="/dashboard/keys/new">Create key</a>`;

const PROVIDER_KEYS = html`<a class="button" href="/dashboard/provider-keys">Provider keys</a>`;

const PLAYGROUND = html`<span class="sub">Created by the playground, renewed hourly</span>`;

const RECORDED = html`<span class="sub">Prompts recorded</span>`;

const SORTS: Record<KeyOrder, string> = {
  created: "Newest first",
  name: "Name",
  used: "Last used",
  spend: "Spend this month",
};

function searchForm({ search, sort, project, projects }: KeysView): string {
  const options = Object.entries(SORTS).map(
    ([value, words]) => html`<option value="${value}" !${value === sort ? "selected" : ""}>${words}</option>`,
  );
  return html`<form method="get" action="${PATH}" class="filters" role="search">
    <label
      ><span class="hidden">Name or masked key</span
      ><input type="search" name="search" value="${search}" placeholder="Name or sk-mg-AbCd****WxYz"
    /></label>
    <label
      ><span class="hidden">Sort by</span
      ><select name="sort">
        !${options.join("")}
      </select></label
    >
    !${projects.length === 0 ? "" : projectFilter(projects, project)}
    <button>Apply</button>
    !${search === "" && project === undefined ? "" : html`<a href="${PATH}">Clear search</a>`}
  </form>`;
}

function projectFilter(projects: readonly NamedProject[], chosen: string | undefined): string {
  const options = projects.map(
    ({ id, name }) => html`<option value="${id}" !${id === chosen ? "selected" : ""}>${name}</option>`,
  );
  return html`<label
    ><span class="hidden">Project</span
    ><select name="project">
      <option value="">All projects</option>
      !${options.join("")}
    </select></label
  >`;
}

function noKeys(mayChange: boolean): string {
  const note = mayChange
    ? "Create one for each tool or server: each has its own limits, and can be deleted without touching the others."
    : "Ask a member of this account to create one.";
  return empty("No API keys yet", { note });
}

const BULK_FORM = html`<form method="get" action="${PATH}/disable" id="${BULK}" class="more" data-dialog>
  <button>Disable selected keys</button>
</form>`;

function pages({ search, sort, project, page, keys, total }: KeysView): string {
  const link = (to: number, words: string) => {
    const query = new URLSearchParams({
      ...(search === "" ? {} : { search }),
      ...(project === undefined ? {} : { project }),
      sort,
      page: String(to),
    });
    return html`<a class="button" href="${PATH}?${query.toString()}">${words}</a>`;
  };
  const before = (page - 1) * KEYS_PAGE;
  const links = [
    ...(page > 1 ? [link(page - 1, "Previous")] : []),
    ...(before + keys.length < total ? [link(page + 1, "Next")] : []),
  ];
  if (links.length === 0 || keys.length === 0) return "";
  const shown = `${grouped(String(before + 1))}–${grouped(String(before + keys.length))} of ${grouped(String(total))}`;
  return html`<p class="more"><span class="muted small">${shown}</span> !${links.join(" ")}</p>`;
}

function table(keys: readonly ListedKey[], visitor: Member, mayChange: boolean): string {
  return responsiveTable(
    [
      ...(mayChange ? [{ hidden: "Select" }] : []),
      "Name",
      "Key",
      "Status",
      { text: "Created", isMinor: true },
      "Last used",
      { number: "Spend" },
      { text: "Limits", isMinor: true },
      ...(mayChange ? [{ hidden: "Actions" }] : []),
    ],
    keys.map((key) => row(key, visitor, mayChange)),
    "widest",
  );
}

function row(key: ListedKey, visitor: Member, mayChange: boolean): string {
  const {
    publicId,
    name,
    masked,
    status,
    createdAt,
    createdBy,
    lastUsedAt,
    spentNanoUsd,
    expiresAt,
    previousUntil,
    isPlayground,
    projectName,
  } = key;
  const path = `${PATH}/${publicId}`;
  const box = html`<td data-label="Select">
    <input type="checkbox" name="keys" value="${publicId}" form="${BULK}" aria-label="Select ${name}" />
  </td>`;
  const overlap = html`<span class="sub" title="The value before the last rotation still works">Old value still works</span>`;
  return html`<tr>
    !${mayChange ? box : ""}
    <th scope="row" data-label="Name">
      <span
        ><a href="${path}">!${clipped(name)}</a
        >!${isPlayground ? PLAYGROUND : ""}!${key.promptLogDays === null ? "" : RECORDED}!${projectName === null ? "" : html`<span class="sub">!${clipped(projectName)}</span>`}</span
      >
    </th>
    <td data-label="Key"><code>${masked}</code></td>
    <td data-label="Status">
      <span
        ><span class="badge ${status}">${status}</span
        >!${expiresAt === null || isPlayground ? "" : lastDay(expiresAt)}!${previousUntil === null || isPlayground ? "" : overlap}</span
      >
    </td>
    <td data-label="Created" class="minor">
      <span>!${moment(createdAt)}!${createdBy === null ? "" : html`<span class="sub">!${clipped(createdBy)}</span>`}</span>
    </td>
    <td data-label="Last used">!${lastUsedAt === null ? "Never" : moment(lastUsedAt)}</td>
    <td data-label="Spend" class="number">!${usd(spentNanoUsd)}</td>
    <td data-label="Limits" class="minor">!${spendLimits(key)}</td>
    !${mayChange ? html`<td class="actions">!${rowMenu(name, actions(key, path, visitor))}</td>` : ""}
  </tr>`;
}

function lastDay(expiresAt: Date): string {
  return html`<span class="sub">Until !${day(new Date(expiresAt.getTime() - 1))}</span>`;
}

function actions({ name, status, isPlayground }: ListedKey, path: string, { csrf }: Member): string[] {
  const enable = html`<form method="post" action="${path}/enable">
    !${csrfField(csrf)}<button aria-label="Enable ${name}">Enable</button>
  </form>`;
  const disable = html`<a href="${path}/disable" data-dialog aria-label="Disable ${name}">Disable</a>`;
  return [
    html`<a href="${path}" aria-label="Edit ${name}">Edit</a>`,
    ...(isPlayground ? [] : [html`<a href="${path}/rotate" data-dialog aria-label="Rotate ${name}">Rotate</a>`]),
    status === "disabled" ? enable : disable,
    html`<a class="danger" href="${path}/delete" data-dialog aria-label="Delete ${name}">Delete</a>`,
  ];
}
