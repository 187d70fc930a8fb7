import { html } from "ghtml";
import { RANGES, type DayRange } from "../../usage/range.ts";

type Kept = Readonly<Record<string, string>>;

/**
 * @param path of the page.
 * @param kept other parameters of the page's address.
 */
export function rangePicker(path: string, range: DayRange, kept: Kept = {}): string {
  return html`<div class="range">
    !${namedRanges(path, range, kept)}
    <form method="get" action="${path}">
      <input type="hidden" name="range" value="custom" />
      !${hiddenFields(kept)}
      <label><span class="hidden">From</span><input type="date" name="from" value="${range.fromDay}" /></label>
      <label><span class="hidden">To</span><input type="date" name="to" value="${range.toDay}" /></label>
      <button>Apply</button>
      <span class="muted small">UTC</span>
    </form>
  </div>`;
}

/** Links to the named ranges. */
export function namedRanges(path: string, range: Pick<DayRange, "name">, kept: Kept = {}): string {
  const links = Object.entries(RANGES).map(
    ([name, words]) =>
      html`<a
        href="${path}?${new URLSearchParams({ range: name, ...kept }).toString()}"
        !${name === range.name ? 'aria-current="true"' : ""}
        >${words}</a
      >`,
  );
  return html`<nav class="switch" aria-label="Date range">!${links.join("")}</nav>`;
}

/** Hidden fields, so that a form keeps the page's other parameters. */
export function hiddenFields(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)
    .join("");
}

/** A range as a page's query. */
export function rangeQuery({ name, fromDay, toDay }: DayRange): Record<string, string> {
  return name === "custom" ? { range: name, from: fromDay, to: toDay } : { range: name };
}
