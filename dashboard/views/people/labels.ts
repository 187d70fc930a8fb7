import { html } from "ghtml";
import { LABEL_BOUNDS } from "../../../contract/labels.ts";
import type { AccountLabels } from "../../../ledger/labels/account-labels.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { labelSnippets } from "./label-snippets.ts";

const SETTINGS = "/dashboard/settings";
const PATH = `${SETTINGS}/tags`;

/** Whether requests keep their tags and end users, and the owners' switch. */
export function labelsSection(visitor: Member, labels: AccountLabels): string {
  const { keeping } = labels;
  return html`<h2 id="tags">Tags and end users</h2>
    <section class="card stack" aria-labelledby="tags">
      <p><span class="badge ${keeping === "kept" ? "active" : ""}">${STATES[keeping]}</span></p>
      <p class="muted">
        Requests can carry tags (<code>x-gateway-tags: team=search</code>) and an end user, to show which teams, features or users
        cause usage. While this is on, they are kept with each request for up to ${LABEL_BOUNDS.keptDays} days, and everyone in
        the account can see them.
      </p>
      !${labelSnippets()} !${isAllowed(visitor.membership.role, "setLabels") ? switches(visitor, labels) : ""}
    </section>`;
}

const STATES = { kept: "On", off: "Off", erasing: "Off, deleting", other: "Other" } as const;

function switches({ csrf }: Member, { keeping, hasSome }: AccountLabels): string {
  const isOn = keeping === "kept";
  const erase = html`<a class="danger" href="${PATH}/delete" data-dialog>!${isOn ? "Turn off and delete all" : "Delete all"}</a>`;
  if (keeping === "erasing") return html`<p>Stored tags and end users are being deleted. This takes a few minutes.</p>`;
  return html`<form method="post" action="${PATH}" class="buttons">
    !${csrfField(csrf)}
    <input type="hidden" name="isOn" value="${isOn ? "no" : "yes"}" />
    <button>${isOn ? "Turn off" : "Turn on"}</button>
    !${hasSome ? erase : ""}
  </form>`;
}

export function deleteLabelsPage(visitor: Member): string {
  return confirmPage({
    visitor,
    path: SETTINGS,
    title: "Delete all tags and end users?",
    body: html`<p>
      The feature is turned off. The tags and end users of all earlier requests, and usage by them, are deleted within minutes.
      Requests, charges, and usage by model, key and member stay. This cannot be undone.
    </p>`,
    action: `${PATH}/delete`,
    button: "Delete all",
    cancel: `${SETTINGS}#tags`,
  });
}
