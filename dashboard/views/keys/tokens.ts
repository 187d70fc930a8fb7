import { html } from "ghtml";
import type { ManagementToken } from "../../../ledger/people/management-tokens.ts";
import type { FormState } from "../../form.ts";
import { isAllowed } from "../../permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { choice } from "../choice.ts";
import { field, formProblem } from "../field.ts";
import { csrfField, layout } from "../layout.ts";
import { copyable } from "./snippets.ts";
import { day, moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

const ROLES = {
  viewer: "See everything, change nothing",
  member: "Make, change and delete keys, redeem codes",
  owner: "Everything that this account's owner may",
} as const;
const STATUS: Record<ManagementToken["status"], string> = {
  active: "It works",
  expired: "Its last day is over",
  stopped: "Who made it is no longer in this account, or lacks the second factor that it requires",
};
const PATH = "/dashboard/tokens";

export interface TokensView {
  visitor: Member;
  tokens: readonly ManagementToken[];
  form: FormState;
  baseUrl: string;
}

export function tokensPage({ visitor, tokens, form, baseUrl }: TokensView): string {
  const mayChange = isAllowed(visitor.membership.role, "manageTokens");
  const body = html`<h1>API tokens</h1>
    <p class="muted">
      A management token lets a program do what these pages do: make keys, read usage and credit. It calls no model. What there is
      to call: <a href="${baseUrl}/api/v1/openapi.json"><code>${baseUrl}/api/v1/openapi.json</code></a>
    </p>
    !${tokens.length === 0 ? html`<div class="card empty"><p>There is no token yet.</p></div>` : table(tokens, mayChange)}
    !${mayChange ? newToken(visitor, form) : html`<p class="muted">Only an owner of this account can make one.</p>`}`;
  return layout({ title: "API tokens", visitor, path: PATH, body });
}

function newToken({ csrf }: Member, form: FormState): string {
  return html`<h2>Make a token</h2>
    <form method="post" action="${PATH}" class="card stack">
      !${formProblem(form)} !${csrfField(csrf)}
      !${field({ name: "name", label: "Name", help: "What or who will use it: “billing report”, “deployment”.", isRequired: true }, form)}
      !${choice({ name: "role", label: "It may", options: ROLES }, form)}
      !${field({ name: "expires", label: "Last day", type: "date", help: "Left empty, it does not expire. Days are UTC." }, form)}
      <button class="primary">Make the token</button>
    </form>`;
}

function table(tokens: readonly ManagementToken[], mayChange: boolean): string {
  return responsiveTable(
    ["Name", "May", "Status", "Made by", "Last used", "Expires", ...(mayChange ? [{ hidden: "Actions" }] : [])],
    tokens.map((token) => row(token, mayChange)),
  );
}

function row(
  { id, name, role, status, createdBy, createdAt, lastUsedAt, expiresAt }: ManagementToken,
  mayChange: boolean,
): string {
  const revoke = html`<td class="actions">
    <a class="button quiet danger" href="${PATH}/${id}/revoke" aria-label="Revoke ${name}">Revoke</a>
  </td>`;
  return html`<tr>
    <th scope="row" data-label="Name">${name}</th>
    <td data-label="May"><span title="${ROLES[role]}">${role}</span></td>
    <td data-label="Status"><span class="badge ${status}" title="${STATUS[status]}">${status}</span></td>
    <td data-label="Made by">
      <span>${createdBy}<br /><span class="muted small">!${moment(createdAt)}</span></span>
    </td>
    <td data-label="Last used">!${lastUsedAt === null ? "never" : moment(lastUsedAt)}</td>
    <td data-label="Expires">!${expiresAt === null ? "never" : day(new Date(expiresAt.getTime() - 1))}</td>
    !${mayChange ? revoke : ""}
  </tr>`;
}

export function tokenValuePage({ visitor, value, baseUrl }: { visitor: Member; value: string; baseUrl: string }): string {
  const body = html`<h1>Your new token</h1>
    <div class="card stack">
      !${copyable({ id: "token-value", text: value, label: "The token's full value" })}
      <p>
        <strong>Copy it now: you will not see it again.</strong> Only a hash of it is kept. Whoever has it can manage this
        account.
      </p>
      <p><a class="button primary" href="${PATH}">I have copied it</a></p>
    </div>
    <h2>How to use it</h2>
    !${copyable({ id: "curl", label: "From a shell", text: `curl -H "authorization: Bearer ${value}" ${baseUrl}/api/v1/keys` })}`;
  return layout({ title: "Your new token", visitor, path: PATH, body, isNarrow: true });
}

export function confirmTokenPage({ visitor, token }: { visitor: Member; token: ManagementToken }): string {
  const title = `Revoke ${token.name}?`;
  const body = html`<h1>${title}</h1>
    <form method="post" action="${PATH}/${token.id}/revoke" class="card stack">
      !${csrfField(visitor.csrf)}
      <p>Whatever uses it is refused at once. This cannot be undone; keys that were made with it stay.</p>
      <div class="buttons">
        <button class="danger">Revoke the token</button>
        <a class="button quiet" href="${PATH}">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: PATH, body, isNarrow: true });
}
