import { html } from "ghtml";
import { icon } from "./icon.ts";

/**
 * Actions of a row, behind a "…". It opens without scripts; opening one closes the others.
 * @param label the object of the actions, for screen readers.
 * @param items HTML: links, and forms with one button each.
 */
export function rowMenu(label: string, items: readonly string[]): string {
  return html`<details class="menu" name="row-menu">
    <summary aria-label="Actions for ${label}">!${icon("more")}</summary>
    <div class="menu-items">!${items.join("")}</div>
  </details>`;
}
