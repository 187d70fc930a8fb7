import { html } from "ghtml";

/** A column's head; right-aligned for numbers. `hidden`: only for screen readers. */
type Head = string | { number: string } | { hidden: string };

/** The table's width with truncated names: on narrower screens, each row is a card. */
type Width = "narrow" | "medium" | "wide" | "widest" | "widest tagged";

/** @param rows HTML: each cell's `data-label` is its head. */
export function responsiveTable(heads: readonly Head[], rows: readonly string[], width: Width = "medium"): string {
  const cells = heads.map((head) => {
    if (typeof head === "string") return html`<th scope="col">${head}</th>`;
    if ("hidden" in head) return html`<th scope="col"><span class="hidden">${head.hidden}</span></th>`;
    return html`<th scope="col" class="number">${head.number}</th>`;
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
