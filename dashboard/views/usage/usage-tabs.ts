import { html } from "ghtml";
import type { DayRange } from "../../usage/range.ts";
import { rangeQuery } from "./range-picker.ts";

const TABS = [
  { path: "/dashboard/usage", name: "Spend and tokens" },
  { path: "/dashboard/usage/performance", name: "Performance" },
];

/** Pages about usage, for the same days. */
export function usageTabs(path: string, range: DayRange): string {
  const query = new URLSearchParams(rangeQuery(range)).toString();
  const links = TABS.map(
    (tab) => html`<a href="${tab.path}?${query}" !${tab.path === path ? 'aria-current="page"' : ""}>${tab.name}</a>`,
  );
  return html`<nav class="tabs" aria-label="Usage">!${links.join("")}</nav>`;
}
