import { html } from "ghtml";
import type { ActionFilterName } from "../../../ledger/people/action-names.ts";
import { ACTIONS_BY_CATEGORY, actionWords } from "./action-words.ts";

/** A choice of one action, or all of a category. */
export function actionSelect(chosen: ActionFilterName | undefined): string {
  const groups = ACTIONS_BY_CATEGORY.map(
    ({ category, words, names }) =>
      html`<optgroup label="${words}">
        !${option(category, `${words}: all`, chosen)} !${names.map((name) => option(name, actionWords(name), chosen)).join("")}
      </optgroup>`,
  );
  return html`<select id="action" name="action">
    <option value="">All actions</option>
    !${groups.join("")}
  </select>`;
}

function option(value: string, words: string, chosen: string | undefined): string {
  return html`<option value="${value}" !${value === chosen ? "selected" : ""}>${words}</option>`;
}
