import { html } from "ghtml";
import type { ManagementToken } from "../../../ledger/people/management-tokens.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { choice } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { layout } from "../layout.ts";
import { rowMenu } from "../menu.ts";
import { shownOnce } from "../shown-once.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { day, moment } from "../time.ts";
import { copyable } from "./snippets.ts";
import { roleName } from "../role-names.ts";

const ROLES = {
  viewer: "Viewer: read everything",
  member: "Member: manage keys and credit",
  owner: "Owner: full access",
} as const;
const STATUS: Record<ManagementToken["status"], string> = {
  active: "Works",
  expired: "Past its expiry date",
  stopped: "Its creator left this account, or lacks the two-factor authentication that it requires",
};
const PATH = "/dashboard/tokens";

export interface TokensView {
  visitor: Member;
  tokens: readonly ManagementToken[];
  form: FormState;
  baseUrl: string;
  /** HTML of a dialog over the page. */
  dialog?: string;
}

export function tokensPage({ visitor, tokens, form, baseUrl, dialog = "" }: TokensView): string {
  const mayChange = isAllowed(visitor.membership.role, "manageTokens");
  const body = html`!${dialog}
    <h1>Management tokens</h1>
    <p class="muted">
      A management token lets a program do what this dashboard does: manage keys, and read usage and credit. It cannot call
      models.
      <a href="/dashboard/docs/management-api">API reference</a> · <a href="${baseUrl}/api/v1/openapi.json">OpenAPI</a>
    </p>
    !${tokens.length === 0 ? empty("No management tokens yet") : table(tokens, mayChange)}
    !${mayChange ? newToken(visitor, form) : html`<p class="muted">Only owners of this account can create tokens.</p>`}`;
  return layout({ title: "Management tokens", visitor, path: PATH, body });
}

function newToken({ csrf, person }: Member, form: FormState): string {
  return html`<h2>Create a token</h2>
    <form method="post" action="${PATH}" class="card stack">
      !${formProblem(form)} !${csrfField(csrf)}
      !${field({ name: "name", label: "Name", help: "What uses it, such as “billing report” or “deployment”.", isRequired: true }, form)}
      !${choice({ name: "role", label: "Role", options: Object.entries(ROLES) }, form)}
      !${field({ name: "expires", label: "Expires", type: "date", help: "Optional. The last day on which it works, in UTC." }, form)}
      !${person.isAdmin ? SERVICE_CHOICE : ""}
      <button class="primary">Create token</button>
    </form>`;
}

const SERVICE_CHOICE = html`<label class="check"
  ><input type="checkbox" name="service" value="yes" />Also read figures of the whole service, like the Admin pages</label
>`;

function table(tokens: readonly ManagementToken[], mayChange: boolean): string {
  return responsiveTable(
    ["Name", "Role", "Status", "Created by", "Last used", "Expires", ...(mayChange ? [{ hidden: "Actions" }] : [])],
    tokens.map((token) => row(token, mayChange)),
    "wide",
  );
}

function row(
  { id, name, role, status, createdBy, createdAt, lastUsedAt, expiresAt, readsService }: ManagementToken,
  mayChange: boolean,
): string {
  const revoke = html`<a class="danger" href="${PATH}/${id}/revoke" data-dialog aria-label="Revoke ${name}">Revoke</a>`;
  return html`<tr>
    <th scope="row" data-label="Name">!${clipped(name)}</th>
    <td data-label="Role">
      <span
        ><span title="${role === "other" ? "Not a role of this version" : ROLES[role]}">${roleName(role)}</span
        >!${readsService ? html`<span class="sub">Service figures</span>` : ""}</span
      >
    </td>
    <td data-label="Status"><span class="badge ${status}" title="${STATUS[status]}">${status}</span></td>
    <td data-label="Created by">
      <span>!${clipped(createdBy)}<span class="sub">!${moment(createdAt)}</span></span>
    </td>
    <td data-label="Last used">!${lastUsedAt === null ? "Never" : moment(lastUsedAt)}</td>
    <td data-label="Expires">!${expiresAt === null ? "Never" : day(new Date(expiresAt.getTime() - 1))}</td>
    !${mayChange ? html`<td class="actions">!${rowMenu(name, [revoke])}</td>` : ""}
  </tr>`;
}

export function tokenValueDialog({ value, baseUrl }: { value: string; baseUrl: string }): string {
  const body = html`!${copyable({ id: "token-value", text: value, label: "Full value of the token" })}
    <p>
      <strong>Copy it now: you will not see it again.</strong> Anyone who has it can manage this account, so store it like a
      password. The gateway keeps only a hash.
    </p>
    <details>
      <summary>Use it</summary>
      !${copyable({ id: "curl", label: "From a shell", text: `curl -H "authorization: Bearer ${value}" ${baseUrl}/api/v1/keys` })}
    </details>`;
  return shownOnce({ title: "Your new token", body, done: PATH });
}

export function confirmTokenPage({ visitor, token }: { visitor: Member; token: ManagementToken }): string {
  return confirmPage({
    visitor,
    path: PATH,
    title: `Revoke ${token.name}?`,
    body: html`<p>
      Requests with this token are refused immediately. This cannot be undone. Keys that it created keep working.
    </p>`,
    action: `${PATH}/${token.id}/revoke`,
    button: "Revoke token",
    cancel: PATH,
  });
}
