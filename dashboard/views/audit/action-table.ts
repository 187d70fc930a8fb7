import { html } from "ghtml";
import type { ListedAction } from "../../../ledger/people/audit.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { recordedMoment } from "../time.ts";
import { actionWords } from "./action-words.ts";

/** A column that only some of these tables have. */
export interface ActionColumn<Action> {
  head: string;
  /** HTML. */
  cell: (action: Action) => string;
}

export const BY: ActionColumn<ListedAction> = { head: "By", cell: ({ by }) => clipped(by ?? "–") };

/**
 * Actions, newest first.
 * @param columns `before` are between time and action, `after` at the end.
 */
export function actionTable<Action extends ListedAction>(
  actions: readonly Action[],
  { before = [], after = [] }: { before?: readonly ActionColumn<Action>[]; after?: readonly ActionColumn<Action>[] },
): string {
  const cells = (columns: readonly ActionColumn<Action>[], action: Action) =>
    columns.map(({ head, cell }) => html`<td data-label="${head}">!${cell(action)}</td>`).join("");
  const rows = actions.map(
    (action) =>
      html`<tr>
        <th scope="row" data-label="Time (UTC)">!${recordedMoment(new Date(msOfId(action.id)))}</th>
        !${cells(before, action)}
        <td data-label="Action" class="wrap"><span title="${action.action}">${actionWords(action.action)}</span></td>
        <td data-label="Subject">!${subject(action)}</td>
        !${cells(after, action)}
      </tr>`,
  );
  const heads = ["Time (UTC)", ...before.map(({ head }) => head), "Action", "Subject", ...after.map(({ head }) => head)];
  return responsiveTable(heads, rows, "wide");
}

/** A key's or a token's name, if it has one: its ID says little. */
function subject({ subject: identifier, subjectName }: ListedAction): string {
  if (subjectName === null) return clipped(identifier);
  return html`<span class="clip" dir="auto" title="${subjectName} (${identifier})">${subjectName}</span>`;
}
