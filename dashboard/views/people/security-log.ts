import { html } from "ghtml";
import type { ListedAction } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { Member } from "../../session/visitor.ts";
import { layout } from "../layout.ts";
import { responsiveTable } from "../responsive-table.ts";
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
        <td data-label="What"><code>${action}</code></td>
        <td data-label="On">${subject}</td>
        <td data-label="Account">${by ?? "–"}</td>
      </tr>`,
  );
  const body = html`<p class="small"><a href="/dashboard/settings">Settings</a></p>
    <h1>Security log</h1>
    <p class="muted">
      Everything that was done as ${visitor.person.email}. Something that you did not do? Change your password, and sign out all
      other browsers.
    </p>
    !${rows.length === 0 ? html`<div class="card empty"><p>Nothing yet.</p></div>` : responsiveTable(["Time", "What", "On", "Account"], rows)}
    !${next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/settings/log?before=${next}">Older entries</a></p>`}`;
  return layout({ title: "Security log", visitor, path: "/dashboard/settings", body });
}
