import { html } from "ghtml";
import { colour } from "./frame.ts";

/**
 * The names of a chart's colours, each a link to the chart of that series alone.
 * @param linkOf address of the page with one series; null: with all.
 */
export function legend(
  { names, colours, only }: { names: readonly string[]; colours?: readonly number[] | undefined; only: string | undefined },
  linkOf: (name: string | null) => string,
): string {
  const items = names.map((name, index) => {
    const isOnly = name === only;
    return html`<li class="${only === undefined || isOnly ? "" : "off"}">
      <a href="${linkOf(isOnly ? null : name)}" !${isOnly ? 'aria-current="true"' : ""}
        ><span class="swatch ${colour(colours?.[index] ?? index)}"></span>${name}</a
      >
    </li>`;
  });
  const all = only === undefined ? "" : html`<li><a href="${linkOf(null)}">Show all</a></li>`;
  return html`<ul class="legend" aria-label="Series">
    !${items.join("")}!${all}
  </ul>`;
}
