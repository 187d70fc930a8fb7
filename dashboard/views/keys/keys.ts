import { html } from "ghtml";
import type { KeyPage, ListedKey } from "../../../ledger/keys/key-list.ts";
import { showUsd } from "../../money.ts";
import type { Member } from "../../session/visitor.ts";
import { layout } from "../layout.ts";
import { csrfField } from "../layout.ts";
import { day, moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

export function keysPage({ visitor, keys, next }: { visitor: Member } & KeyPage): string {
  const mayChange = visitor.membership.role !== "viewer";
  const body = html`<div class="title">
      <h1>Keys</h1>
      !${mayChange ? html`<a class="button primary" href="/dashboard/keys/new">Make a key</a>` : ""}
    </div>
    !${keys.length === 0 ? empty(mayChange) : table(keys, visitor, mayChange)}
    !${next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/keys?after=${next}">Older keys</a></p>`}`;
  return layout({ title: "Keys", visitor, path: "/dashboard/keys", body });
}

function empty(mayChange: boolean): string {
  return html`<div class="card empty">
    <p>There is no key yet.</p>
    <p class="muted">
      !${mayChange ? "A key lets a tool use this account. Make one for each tool: each can be limited and deleted by itself." : "Ask a member of this account to make one."}
    </p>
  </div>`;
}

function table(keys: readonly ListedKey[], visitor: Member, mayChange: boolean): string {
  return responsiveTable(
    [
      "Name",
      "Key",
      "Status",
      "Last used",
      { number: "Spent" },
      "Limit",
      "Expires",
      ...(mayChange ? [{ hidden: "Actions" }] : []),
    ],
    keys.map((key) => row(key, visitor, mayChange)),
  );
}

function row(key: ListedKey, visitor: Member, mayChange: boolean): string {
  const path = `/dashboard/keys/${key.publicId}`;
  return html`<tr>
    <th scope="row" data-label="Name"><a href="${path}">${key.name}</a></th>
    <td data-label="Key"><code>${key.masked}</code></td>
    <td data-label="Status"><span class="badge ${key.status}">${key.status}</span></td>
    <td data-label="Last used">!${key.lastUsedAt === null ? "never" : moment(key.lastUsedAt)}</td>
    <td data-label="Spent" class="number">${showUsd(key.spentNanoUsd)}</td>
    <td data-label="Limit">${limitOf(key)}</td>
    <td data-label="Expires">!${key.expiresAt === null ? "never" : day(new Date(key.expiresAt.getTime() - 1))}</td>
    !${mayChange ? html`<td class="actions">!${actions(key, path, visitor)}</td>` : ""}
  </tr>`;
}

function actions({ name, status }: ListedKey, path: string, { csrf }: Member): string {
  const [verb, action] = status === "disabled" ? ["Enable", "enable"] : ["Disable", "disable"];
  return html`<form method="post" action="${path}/${action}">
      !${csrfField(csrf)}<button class="quiet" aria-label="${verb} ${name}">${verb}</button>
    </form>
    <a class="button quiet" href="${path}/rotate" aria-label="Rotate ${name}">Rotate</a>
    <a class="button quiet danger" href="${path}/delete" aria-label="Delete ${name}">Delete</a>`;
}

function limitOf({ limits, spentTodayNanoUsd, spentThisMonthNanoUsd }: ListedKey): string {
  const { spendPerDayUsd, spendPerMonthUsd } = limits;
  const parts = [
    ...(spendPerDayUsd === undefined ? [] : [`${showUsd(spentTodayNanoUsd)} of $${spendPerDayUsd} today`]),
    ...(spendPerMonthUsd === undefined ? [] : [`${showUsd(spentThisMonthNanoUsd)} of $${spendPerMonthUsd} this month`]),
  ];
  return parts.length === 0 ? "none" : parts.join("; ");
}
