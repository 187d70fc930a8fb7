import { html } from "ghtml";
import { RANGES, type DayRange } from "../usage/range.ts";

/** @param path of the page; the rest of its address is written anew. */
export function rangePicker(path: string, range: DayRange): string {
  const links = Object.entries(RANGES).map(
    ([name, words]) => html`<a href="${path}?range=${name}" !${name === range.name ? 'aria-current="true"' : ""}>${words}</a>`,
  );
  return html`<div class="range">
    <nav aria-label="Days">!${links.join("")}</nav>
    <form method="get" action="${path}">
      <input type="hidden" name="range" value="custom" />
      <label><span class="hidden">First day</span><input type="date" name="from" value="${range.fromDay}" /></label>
      <label><span class="hidden">Last day</span><input type="date" name="to" value="${range.toDay}" /></label>
      <button>Show</button>
    </form>
    <span class="muted small">Days are UTC.</span>
  </div>`;
}

/** A page's query for a range. */
export function rangeQuery({ name, fromDay, toDay }: DayRange): Record<string, string> {
  return name === "custom" ? { range: name, from: fromDay, to: toDay } : { range: name };
}
