import { html } from "ghtml";
import type { ActionFilterName } from "../../../ledger/people/action-names.ts";
import type { ListedAction } from "../../../ledger/people/audit.ts";
import type { Member } from "../../session/visitor.ts";
import { actionSelect } from "../audit/action-select.ts";
import { actionTable, BY } from "../audit/action-table.ts";
import { empty } from "../empty.ts";
import { layout } from "../layout.ts";
import { olderLink } from "../older-link.ts";

const PATH = "/dashboard/settings/activity";

export interface ActivityView {
  visitor: Member;
  actions: readonly ListedAction[];
  /** The filter. */
  action: ActionFilterName | undefined;
  /** Cursor of the next page; null on the last page. */
  next: string | null;
}

/** Actions of all members in the account. */
export function activityPage({ visitor, actions, action, next }: ActivityView): string {
  const body = html`<p class="crumb"><a href="/dashboard/settings">Settings</a></p>
    <h1>Audit log</h1>
    <form method="get" action="${PATH}" class="filters">
      <label class="hidden" for="action">Action</label>
      !${actionSelect(action)}
      <button>Filter</button>
      !${action === undefined ? "" : html`<a href="${PATH}">Clear filter</a>`}
    </form>
    !${actions.length === 0 ? empty("No matching actions") : actionTable(actions, { before: [BY] })}
    !${next === null ? "" : olderLink(PATH, { ...(action === undefined ? {} : { action }), before: next }, "Older actions")}`;
  return layout({ title: "Audit log", visitor, path: "/dashboard/settings", body });
}
