import { html } from "ghtml";
import type { ListedAction } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";

export interface SecurityLogView {
  visitor: Member;
  /** `by` is the account's name. */
  actions: readonly ListedAction[];
  /** Id to go on after; null on the last page. */
  next: string | null;
}

export function securityLogPage({ visitor, actions, next }: SecurityLogView): string {
  const rows = actions.map(
    ({ id, by, action, subject }) =>
      html`<tr>
        <th scope="row" data-label="Time">!${moment(new Date(msOfId(id)))}</th>
        <td data-label="Action"><code>${action}</code></td>
        <td data-label="Subject">!${clipped(subject)}</td>
        <td data-label="Account">!${clipped(by ?? "–")}</td>
      </tr>`,
  );
  const body = html`<p class="crumb"><a href="/dashboard/settings">Settings</a></p>
    <h1>Security log</h1>
    <p class="muted">
      Everything done as ${visitor.person.email}. If you do not recognise something, change your password and sign out all other
      sessions.
    </p>
    !${rows.length === 0 ? empty("Nothing yet") : responsiveTable(["Time", "Action", "Subject", "Account"], rows)}
    !${next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/settings/log?before=${next}">Older entries</a></p>`}`;
  return layout({ title: "Security log", visitor, path: "/dashboard/settings", body });
}
