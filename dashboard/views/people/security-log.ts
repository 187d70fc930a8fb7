import { html } from "ghtml";
import type { OwnAction } from "../../../ledger/people/audit.ts";
import type { Member } from "../../session/visitor.ts";
import { actionTable } from "../audit/action-table.ts";
import { empty } from "../empty.ts";
import { layout } from "../layout.ts";
import { clipped } from "../responsive-table.ts";

export interface SecurityLogView {
  visitor: Member;
  actions: readonly OwnAction[];
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

export function securityLogPage({ visitor, actions, next }: SecurityLogView): string {
  const list = actionTable(actions, { after: [{ head: "Account", cell: ({ account }) => clipped(account ?? "–") }] });
  const body = html`<p class="crumb"><a href="/dashboard/settings">Settings</a></p>
    <h1>Security log</h1>
    <p class="muted">
      Everything done as ${visitor.person.email}. If you do not recognize something, change your password and sign out all other
      sessions.
    </p>
    !${actions.length === 0 ? empty("Nothing yet") : list}
    !${next === null ? "" : html`<p class="more"><a class="button" href="/dashboard/settings/log?before=${next}">Older entries</a></p>`}`;
  return layout({ title: "Security log", visitor, path: "/dashboard/settings", body });
}
