import { html } from "ghtml";
import type { ListedDelivery } from "../../../ledger/webhooks/deliveries.ts";
import type { Endpoint } from "../../../ledger/webhooks/endpoints.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { factTerms } from "../facts.ts";
import { layout } from "../layout.ts";
import { rowMenu } from "../menu.ts";
import { olderLink } from "../older-link.ts";
import { responsiveTable } from "../responsive-table.ts";
import { dueMoment, moment } from "../time.ts";
import { eventChoice, eventWords } from "./event-choice.ts";
import { statusBadge, WEBHOOKS_PATH } from "./webhooks.ts";

export interface WebhookView {
  visitor: Member;
  endpoint: Endpoint;
  deliveries: readonly ListedDelivery[];
  /** Id of the last delivery of this page, if another page follows. */
  next: string | null;
  form: FormState;
  dialog?: string;
}

export function webhookPage({ visitor, endpoint, deliveries, next, form, dialog = "" }: WebhookView): string {
  const path = `${WEBHOOKS_PATH}/${endpoint.id}`;
  const body = html`!${dialog}
    <p class="crumb"><a href="${WEBHOOKS_PATH}">Webhooks</a></p>
    <h1>Webhook</h1>
    <p><code>${endpoint.url}</code> !${statusBadge(endpoint)}</p>
    !${notes(endpoint)} !${buttons(visitor, endpoint)}
    <h2>Recent deliveries</h2>
    !${deliveries.length === 0 ? empty("No events yet") : deliveryTable(visitor, { endpoint, deliveries })}
    !${next === null ? "" : olderLink(path, { before: next }, "Older deliveries")}
    !${settings(visitor, { path, form, isEnabled: endpoint.disabledBy === null })}`;
  return layout({ title: "Webhook", visitor, path: WEBHOOKS_PATH, body });
}

function notes({ disabledBy, previousUntil, droppedAt }: Endpoint): string {
  const texts = [
    ...(disabledBy === "failures"
      ? [
          "This webhook accepted no events for nearly three days, so it was disabled and receives no events. Enable it once your server works again.",
        ]
      : []),
    ...(disabledBy !== null && disabledBy !== "failures" ? ["This webhook is disabled and receives no events."] : []),
    ...(previousUntil === null ? [] : [html`Events are also signed with the previous secret until !${moment(previousUntil)}.`]),
    ...(droppedAt === null
      ? []
      : [html`Too many events were waiting, so some were dropped, most recently !${moment(droppedAt)}.`]),
  ];
  return texts.map((text) => html`<p class="alert">!${text}</p>`).join("");
}

function buttons({ csrf }: Member, { id, disabledBy }: Endpoint): string {
  const path = `${WEBHOOKS_PATH}/${id}`;
  const whenEnabled = html`<button formaction="${path}/test">Send test event</button>
    <button formaction="${path}/disable">Disable</button>`;
  return html`<form method="post" action="${path}/enable" class="buttons">
    !${csrfField(csrf)} !${disabledBy === null ? whenEnabled : html`<button class="primary">Enable</button>`}
    <a class="button" href="${path}/rotate" data-dialog>Rotate secret</a>
    <a class="button quiet danger" href="${path}/delete" data-dialog>Delete webhook</a>
  </form>`;
}

const BADGES = { delivered: "active", waiting: "warn", failed: "failed" } as const;

function deliveryTable(
  { csrf }: Member,
  { endpoint, deliveries }: { endpoint: Endpoint; deliveries: readonly ListedDelivery[] },
): string {
  const rows = deliveries.map(({ id, type, createdAt, attempts, status, problem, nextAttemptAt }) => {
    const again = html`<form method="post" action="${WEBHOOKS_PATH}/${endpoint.id}/deliveries/${id}/repeat">
      !${csrfField(csrf)}<button>Resend</button>
    </form>`;
    const canRepeat = status !== "waiting" && endpoint.disabledBy === null;
    const view = html`<a href="${WEBHOOKS_PATH}/${endpoint.id}/deliveries/${id}">View</a>`;
    return html`<tr>
      <th scope="row" data-label="Event" class="phrase">
        <span
          >${eventWords(type)}<span class="sub"><code>${type}</code></span></span
        >
      </th>
      <td data-label="Created">!${moment(createdAt)}</td>
      <td data-label="Status"><span class="badge ${BADGES[status]}">${status}</span></td>
      <td data-label="Attempts" class="number minor">${attempts}</td>
      <td data-label="Last error">
        <span
          >!${problem === null ? "–" : html`<span class="wrap">${problem}</span>`}!${
            nextAttemptAt === null || attempts === 0
              ? ""
              : html`<span class="sub">Next attempt !${dueMoment(nextAttemptAt)}</span>`
          }</span
        >
      </td>
      <td class="actions">!${rowMenu(`${type} of ${createdAt.toISOString()}`, [view, ...(canRepeat ? [again] : [])])}</td>
    </tr>`;
  });
  const heads = ["Event", "Created", "Status", { number: "Attempts", isMinor: true }, "Last error", { hidden: "Actions" }];
  return responsiveTable(heads, rows, "wide");
}

function settings({ csrf }: Member, { path, form, isEnabled }: { path: string; form: FormState; isEnabled: boolean }): string {
  return html`<form method="post" action="${path}" class="card stack">
    <h2>Settings</h2>
    !${formProblem(form)} !${csrfField(csrf)} !${field({ name: "url", label: "Endpoint URL", isRequired: true }, form)}
    !${eventChoice(form)}
    <button class="${isEnabled ? "primary" : ""}">Save</button>
  </form>`;
}

export interface DeliveryView {
  visitor: Member;
  endpoint: Endpoint;
  delivery: ListedDelivery & { body: string };
}

/** An event as it was sent. */
export function deliveryPage({ visitor, endpoint, delivery }: DeliveryView): string {
  const { type, eventId, createdAt, attempts, status, problem, body: sent } = delivery;
  const facts: [string, string][] = [
    ["Event", html`<code>${type}</code>`],
    ["ID", html`<code>${eventId}</code>`],
    ["Created", moment(createdAt)],
    ["Status", html`<span class="badge ${BADGES[status]}">${status}</span>`],
    ["Attempts", String(attempts)],
    ["Last error", problem === null ? "–" : html`${problem}`],
  ];
  const body = html`<p class="crumb">
      <a href="${WEBHOOKS_PATH}">Webhooks</a> · <a href="${WEBHOOKS_PATH}/${endpoint.id}">Webhook</a>
    </p>
    <h1>Event</h1>
    <section class="card">
      <dl class="facts">!${factTerms(facts)}</dl>
      <div class="snippet">
        <pre tabindex="0" aria-label="Body"><code>${indented(sent)}</code></pre>
      </div>
    </section>`;
  return layout({ title: "Event", visitor, path: WEBHOOKS_PATH, body, isNarrow: true });
}

function indented(body: string): string {
  const value: unknown = JSON.parse(body);
  return JSON.stringify(value, undefined, 2);
}

/** How long the previous secret signs too. */
const OVERLAPS: readonly Option[] = [
  ["24", "For 24 hours"],
  ["168", "For 7 days"],
  ["0", "Not at all"],
];

export function rotateWebhookPage({ visitor, endpoint, form }: { visitor: Member; endpoint: Endpoint; form: FormState }): string {
  const path = `${WEBHOOKS_PATH}/${endpoint.id}`;
  return confirmPage({
    visitor,
    path: WEBHOOKS_PATH,
    title: "Rotate the signing secret?",
    body: html`<p>
        The new secret is shown only once. Until your server has it, events can also be signed with the previous one.
      </p>
      !${choice({ name: "overlap", label: "Keep signing with the previous secret", options: OVERLAPS }, form)}`,
    action: `${path}/rotate`,
    button: "Rotate secret",
    cancel: path,
    isDanger: false,
    form,
  });
}

export function deleteWebhookPage({ visitor, endpoint }: { visitor: Member; endpoint: Endpoint }): string {
  const path = `${WEBHOOKS_PATH}/${endpoint.id}`;
  return confirmPage({
    visitor,
    path: WEBHOOKS_PATH,
    title: "Delete this webhook?",
    body: html`<p><code>${endpoint.url}</code></p>
      <p>
        It receives no more events, and all its deliveries are deleted, including waiting ones. To pause it, disable it instead.
      </p>`,
    action: `${path}/delete`,
    button: "Delete webhook",
    cancel: path,
  });
}
