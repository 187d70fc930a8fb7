import { html } from "ghtml";
import { EVENT_TYPES, TEST_EVENT, type EventType } from "../../../ledger/webhooks/event-types.ts";
import type { FormState } from "../../http/form.ts";
import { formProblem } from "../field.ts";

const WORDS: Readonly<Record<EventType, string>> = {
  "budget.threshold_reached": "Spend reaches 50, 80 or 100% of a budget",
  "credit.top_up_succeeded": "A payment adds credit",
  "credit.top_up_failed": "A payment fails or is abandoned",
  "credit.payment_refunded": "A payment is refunded",
  "credit.balance_low": "The balance falls below the alert threshold",
  "credit.balance_exhausted": "The balance reaches zero",
  "key.created": "An API key is created",
  "key.rotated": "An API key is rotated",
  "key.disabled": "An API key is disabled",
  "key.enabled": "An API key is enabled",
  "key.deleted": "An API key is deleted",
  "key.expires_soon": "An API key expires within a week",
  "member.joined": "A member joins",
  "member.role_changed": "A member's role changes",
  "member.removed": "A member is removed, or leaves",
  "model.shutdown_announced": "A shutdown date is set or changed for a model that you use",
};
const BY_NAME = new Map<string, string>([...Object.entries(WORDS), [TEST_EVENT, "Test event"]]);

/** Events of newer versions are shown by name. */
export function eventWords(name: string): string {
  return BY_NAME.get(name) ?? name;
}

/** Check boxes of all events. */
export function eventChoice(form: FormState): string {
  const chosen = (form.values["events"] ?? "").split(",");
  const boxes = EVENT_TYPES.map(
    (name) =>
      html`<label class="check" title="${name}"
        ><input type="checkbox" name="events" value="${name}" !${chosen.includes(name) ? "checked" : ""} />${WORDS[name]}</label
      >`,
  );
  return html`<fieldset>
    <legend>Events</legend>
    <div class="grid">!${boxes.join("")}</div>
    !${formProblem(form, "events")}
  </fieldset>`;
}
