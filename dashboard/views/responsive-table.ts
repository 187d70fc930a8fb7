import { html } from "ghtml";

/** What stands over a column; over numbers to the right, as they do. `hidden`: only read aloud. */
type Head = string | { number: string } | { hidden: string };

/** How wide the table is with its names clipped: narrower than that, each row is a card. */
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

/** A name or an address of any length: cut in a table, whole in its title and on a card. */
export function clipped(text: string): string {
  return html`<span class="clip" title="${text}">${text}</span>`;
}
