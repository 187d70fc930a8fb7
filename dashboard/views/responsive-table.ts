import { html } from "ghtml";

/** What stands over a column; of numbers it stands to the right, as they do. `hidden`: only read aloud. */
type Head = string | { number: string } | { hidden: string };

/** A table that becomes a list of cards on a phone. @param rows HTML: each cell's `data-label` is its head. */
export function responsiveTable(heads: readonly Head[], rows: readonly string[]): string {
  const cells = heads.map((head) => {
    if (typeof head === "string") return html`<th scope="col">${head}</th>`;
    if ("hidden" in head) return html`<th scope="col"><span class="hidden">${head.hidden}</span></th>`;
    return html`<th scope="col" class="number">${head.number}</th>`;
  });
  return html`<table class="responsive">
    <thead>
      <tr>
        !${cells.join("")}
      </tr>
    </thead>
    <tbody>
      !${rows.join("")}
    </tbody>
  </table>`;
}
