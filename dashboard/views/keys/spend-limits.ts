import { html } from "ghtml";
import { parseNanoUsd } from "../../../ledger/money.ts";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import { usd } from "../figures.ts";

/** How much of a key's spend limits is used, with a bar for each. */
export function spendLimits({ limits, spentTodayNanoUsd, spentThisMonthNanoUsd }: ListedKey): string {
  const { spendPerDayUsd, spendPerMonthUsd } = limits;
  const parts = [
    ...(spendPerDayUsd === undefined ? [] : [limitBar(spentTodayNanoUsd, parseNanoUsd(spendPerDayUsd), "today")]),
    ...(spendPerMonthUsd === undefined ? [] : [limitBar(spentThisMonthNanoUsd, parseNanoUsd(spendPerMonthUsd), "this month")]),
  ];
  return parts.length === 0 ? html`<span class="muted">None</span>` : html`<div class="limits">!${parts.join("")}</div>`;
}

function limitBar(usedNanoUsd: bigint, limitNanoUsd: bigint, period: string): string {
  const percent = limitNanoUsd === 0n ? 100 : Number((usedNanoUsd * 100n) / limitNanoUsd);
  return html`<div class="limit">
    <span>!${usd(usedNanoUsd)} of !${usd(limitNanoUsd)} ${period}</span>
    <meter min="0" max="100" high="80" optimum="0" value="${Math.min(percent, 100)}" aria-label="${percent} % of the limit">
      ${percent} %
    </meter>
  </div>`;
}
