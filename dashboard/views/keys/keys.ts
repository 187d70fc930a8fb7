import { html } from "ghtml";
import type { KeyPage, ListedKey } from "../../../ledger/keys/key-list.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { day, moment } from "../time.ts";
import { spendLimits } from "./spend-limits.ts";

export function keysPage({ visitor, keys, next }: { visitor: Member } & KeyPage): string {
  const mayChange = visitor.membership.role !== "viewer";
  const body = html`<div class="title">
      <h1>API keys</h1>
      !${mayChange ? CREATE : ""}
    </div>
    !${keys.length === 0 ? noKeys(mayChange) : table(keys, visitor, mayChange)}
    !${next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/keys?after=${next}">Older keys</a></p>`}`;
  return layout({ title: "API keys", visitor, path: "/dashboard/keys", body });
}

const CREATE = html`<a class="button primary" href="/dashboard/keys/new">Create key</a>`;

const PLAYGROUND = html`<span class="sub">Made by the playground, renewed hourly</span>`;

function noKeys(mayChange: boolean): string {
  const note = mayChange
    ? "Create one for each tool or server: each has its own limits, and can be deleted without touching the others."
    : "Ask a member of this account to create one.";
  return empty("No API keys yet", { note });
}

function table(keys: readonly ListedKey[], visitor: Member, mayChange: boolean): string {
  return responsiveTable(
    [
      "Name",
      "Key",
      "Status",
      "Created",
      "Last used",
      { number: "Spend" },
      "Limits",
      "Expires",
      ...(mayChange ? [{ hidden: "Actions" }] : []),
    ],
    keys.map((key) => row(key, visitor, mayChange)),
    "widest",
  );
}

function row(key: ListedKey, visitor: Member, mayChange: boolean): string {
  const path = `/dashboard/keys/${key.publicId}`;
  return html`<tr>
    <th scope="row" data-label="Name"><a href="${path}">!${clipped(key.name)}</a>!${key.isPlayground ? PLAYGROUND : ""}</th>
    <td data-label="Key"><code>${key.masked}</code></td>
    <td data-label="Status"><span class="badge ${key.status}">${key.status}</span></td>
    <td data-label="Created">!${moment(key.createdAt)}</td>
    <td data-label="Last used">!${key.lastUsedAt === null ? "Never" : moment(key.lastUsedAt)}</td>
    <td data-label="Spend" class="number">!${usd(key.spentNanoUsd)}</td>
    <td data-label="Limits">!${spendLimits(key)}</td>
    <td data-label="Expires">!${key.expiresAt === null ? "Never" : day(new Date(key.expiresAt.getTime() - 1))}</td>
    !${mayChange ? html`<td class="actions">!${rowMenu(key.name, actions(key, path, visitor))}</td>` : ""}
  </tr>`;
}

function actions({ name, status, isPlayground }: ListedKey, path: string, { csrf }: Member): string[] {
  const [verb, action] = status === "disabled" ? ["Enable", "enable"] : ["Disable", "disable"];
  return [
    html`<a href="${path}" aria-label="Edit ${name}">Edit</a>`,
    ...(isPlayground ? [] : [html`<a href="${path}/rotate" aria-label="Rotate ${name}">Rotate</a>`]),
    html`<form method="post" action="${path}/${action}">
      !${csrfField(csrf)}<button aria-label="${verb} ${name}">${verb}</button>
    </form>`,
    html`<a class="danger" href="${path}/delete" aria-label="Delete ${name}">Delete</a>`,
  ];
}
