import { html } from "ghtml";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import type { Endpoint } from "../../../ledger/webhooks/endpoints.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { copyable } from "../keys/snippets.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { shownOnce } from "../shown-once.ts";
import { day } from "../time.ts";
import { eventChoice, eventWords } from "./event-choice.ts";

export const WEBHOOKS_PATH = "/dashboard/webhook-endpoints";

export interface WebhooksView {
  visitor: Member;
  /** Empty for those who may not see their addresses. */
  endpoints: readonly Endpoint[];
  form: FormState;
  /** HTML of a dialog over the page. */
  dialog?: string;
}

export function webhooksPage({ visitor, endpoints, form, dialog = "" }: WebhooksView): string {
  const mayManage = isAllowed(visitor.membership.role, "manageWebhooks");
  const note = mayManage ? "" : "Only owners of this account can see and manage its webhooks.";
  const body = html`!${dialog}
    <h1>Webhooks</h1>
    <p class="muted">
      Webhooks send the account's events to your own server as they happen. Events are JSON, signed according to
      <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, so any of its libraries can verify them. Failed deliveries
      are retried for nearly three days.
    </p>
    !${endpoints.length === 0 ? empty(mayManage ? "No webhooks yet" : "Owners only", { note }) : table(endpoints)}
    !${mayManage ? addForm(visitor, endpoints, form) : ""}`;
  return layout({ title: "Webhooks", visitor, path: WEBHOOKS_PATH, body });
}

function table(endpoints: readonly Endpoint[]): string {
  const rows = endpoints.map(
    (endpoint) =>
      html`<tr>
        <th scope="row" data-label="Endpoint"><a href="${WEBHOOKS_PATH}/${endpoint.id}">!${clipped(endpoint.url)}</a></th>
        <td data-label="Status">!${statusBadge(endpoint)}</td>
        <td data-label="Events">!${eventsOf(endpoint)}</td>
        <td data-label="Added">!${day(endpoint.createdAt)}</td>
      </tr>`,
  );
  return responsiveTable(["Endpoint", "Status", "Events", "Added"], rows);
}

function eventsOf({ events }: Endpoint): string {
  if (EVENT_TYPES.every((name) => events.includes(name))) return "All";
  const [first = "", ...others] = events;
  return html`<span title="${events.map(eventWords).join("; ")}"
    ><code>${first}</code>${others.length === 0 ? "" : ` and ${others.length} more`}</span
  >`;
}

export function statusBadge({ disabledBy }: Pick<Endpoint, "disabledBy">): string {
  if (disabledBy === null) return html`<span class="badge active">Active</span>`;
  return disabledBy === "failures"
    ? html`<span class="badge failed" title="Accepted no events for nearly three days">Failed</span>`
    : html`<span class="badge disabled">Disabled</span>`;
}

function addForm({ csrf }: Member, endpoints: readonly Endpoint[], form: FormState): string {
  if (endpoints.length >= ACCOUNT_BOUNDS.webhooks)
    return html`<p class="muted">
      This account has ${ACCOUNT_BOUNDS.webhooks} webhooks, the maximum. Delete one to add another.
    </p>`;
  const shown = { ...form, values: { events: EVENT_TYPES.join(","), ...form.values } };
  return html`<form method="post" action="${WEBHOOKS_PATH}" class="card stack">
    <h2>Add a webhook</h2>
    !${formProblem(form)} !${csrfField(csrf)}
    !${field({ name: "url", label: "Endpoint URL", placeholder: "https://example.com/webhooks", isRequired: true }, shown)}
    !${eventChoice(shown)}
    <button class="primary">Add webhook</button>
  </form>`;
}

export function webhookSecretDialog({ id, secret, title }: { id: string; secret: string; title: string }): string {
  const body = html`!${copyable({ id: "webhook-secret", text: secret, label: "Signing secret" })}
    <p><strong>Copy it now: you will not see it again.</strong> Your server needs it to verify events.</p>`;
  return shownOnce({ title, body, done: `${WEBHOOKS_PATH}/${id}` });
}
