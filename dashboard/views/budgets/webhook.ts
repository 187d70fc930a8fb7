import { html } from "ghtml";
import type { ListedDelivery } from "../../../ledger/webhooks/deliveries.ts";
import type { Webhook } from "../../../ledger/webhooks/webhooks.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { field } from "../field.ts";
import { copyable } from "../keys/snippets.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { shownOnce } from "../shown-once.ts";
import { moment } from "../time.ts";

export interface WebhookView {
  /** undefined if there is none. */
  webhook: Webhook | undefined;
  deliveries: readonly ListedDelivery[];
  form: FormState;
}

const PATH = "/dashboard/budgets/webhook";

/** The webhook of the account, for owners. */
export function webhookSection({ csrf }: Member, { webhook, deliveries, form }: WebhookView): string {
  const shown = { ...form, values: { url: webhook?.url ?? "", ...form.values } };
  const more = html`<button class="quiet" formaction="${PATH}/test" formnovalidate>Send test event</button>
    <a class="button quiet danger" href="${PATH}/remove" data-dialog>Remove webhook</a>`;
  return html`<h2 id="webhook">Webhook</h2>
    <form method="post" action="${PATH}" class="card stack" aria-labelledby="webhook">
      <p class="muted">
        Events are posted as JSON and signed according to <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, so any
        of its libraries can verify them. Failed deliveries are retried for about a day and a half.
      </p>
      !${csrfField(csrf)}
      !${field({ name: "url", label: "Endpoint URL", placeholder: "https://example.com/webhooks", isRequired: true }, shown)}
      <div class="buttons">
        <button class="${webhook === undefined ? "primary" : ""}">
          ${webhook === undefined ? "Save webhook" : "Save with a new secret"}
        </button>
        !${webhook === undefined ? "" : more}
      </div>
    </form>
    !${deliveries.length === 0 ? "" : deliveryTable(deliveries)}`;
}

const BADGES = { delivered: "active", waiting: "warn", failed: "failed" } as const;

function deliveryTable(deliveries: readonly ListedDelivery[]): string {
  const rows = deliveries.map(
    ({ type, createdAt, attempts, status, problem }) =>
      html`<tr>
        <th scope="row" data-label="Event"><code>${type}</code></th>
        <td data-label="Created">!${moment(createdAt)}</td>
        <td data-label="Status"><span class="badge ${BADGES[status]}">${status}</span></td>
        <td data-label="Attempts" class="number">${attempts}</td>
        <td data-label="Last problem">!${problem === null ? "–" : clipped(problem)}</td>
      </tr>`,
  );
  return html`<h2>Recent deliveries</h2>
    !${responsiveTable(["Event", "Created", "Status", { number: "Attempts" }, "Last problem"], rows)}`;
}

export function webhookSecretDialog(secret: string): string {
  const body = html`!${copyable({ id: "webhook-secret", text: secret, label: "Signing secret" })}
    <p><strong>Copy it now: you will not see it again.</strong> Your endpoint needs it to verify that events come from here.</p>`;
  return shownOnce({ title: "Webhook saved", body, done: "/dashboard/budgets#webhook" });
}

export function confirmWebhookPage({ visitor, webhook }: { visitor: Member; webhook: Webhook }): string {
  return confirmPage({
    visitor,
    path: "/dashboard/budgets",
    title: "Remove the webhook?",
    body: html`<p><code>${webhook.url}</code></p>
      <p>It gets no more events, and pending deliveries are dropped. A new webhook gets a new secret.</p>`,
    action: `${PATH}/remove`,
    button: "Remove webhook",
    cancel: "/dashboard/budgets#webhook",
  });
}
