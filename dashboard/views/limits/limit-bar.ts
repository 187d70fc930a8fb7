import { html } from "ghtml";
import type { Limit } from "../../../contract/limits.ts";
import { compact, usd } from "../figures.ts";

/** "12 of 60 today" over a bar. */
export function limitBar({
  used,
  limit,
  unit,
  words = "",
}: {
  used: bigint;
  limit: bigint;
  unit: Limit["unit"];
  /** The text after the figures. */
  words?: string;
}): string {
  const percent = limit === 0n ? 100 : Number((used * 100n) / limit);
  const show = (amount: bigint) => (unit === "usd" ? usd(amount) : compact(Number(amount)));
  return html`<div class="limit">
    <span>!${show(used)} of !${show(limit)} ${words}</span>
    <meter
      min="0"
      max="100"
      low="80"
      high="99"
      optimum="0"
      value="${Math.min(percent, 100)}"
      aria-label="${percent}% of the limit"
    >
      ${percent}%
    </meter>
  </div>`;
}
