import { html } from "ghtml";

/**
 * A column's head; right-aligned for numbers. `hidden`: only for screen readers. A minor column is left out where the table
 * has little room: what it shows is on the row's own page. Its cells have the class "minor" too.
 */
type Head = string | { number: string; isMinor?: boolean } | { text: string; isMinor: true } | { hidden: string };

/**
 * How much room the table needs with truncated names, without its minor columns: with less, each row is a card. "whole": it
 * has many columns, and none to leave out. "exact": on a card, its figures may be too long to stand side by side.
 */
export type Width = "narrow" | "narrow exact" | "medium" | "wide" | "whole" | `widest${"" | " tagged"}${"" | " whole"}`;

/** @param rows HTML: each cell's `data-label` is its head. */
export function responsiveTable(heads: readonly Head[], rows: readonly string[], width: Width = "medium"): string {
  const cells = heads.map((head) => {
    if (typeof head === "string") return html`<th scope="col">${head}</th>`;
    if ("hidden" in head) return html`<th scope="col"><span class="hidden">${head.hidden}</span></th>`;
    if ("text" in head) return html`<th scope="col" class="minor">${head.text}</th>`;
    return html`<th scope="col" class="number !${head.isMinor === true ? "minor" : ""}">${head.number}</th>`;
  });
  return html`<div class="table ${width}">
    <table>
      <thead>
        <tr>
          !${cells.join("")}
        </tr>
      </thead>
      <tbody>
        !${rows.join("")}
      </tbody>
    </table>
  </div>`;
}

/** In place of what a row does not have, which a card leaves out. */
export const ABSENT = html`<span class="absent">–</span>`;

/** A name or an address of any length: truncated in a table, complete in its title and on a card. */
export function clipped(text: string): string {
  if (text === "") return "";
  return html`<span class="clip" dir="auto" title="${text}">${text}</span>`;
}
