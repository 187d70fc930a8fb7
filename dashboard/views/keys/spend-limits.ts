import { html } from "ghtml";
import { parseNanoUsd } from "../../../ledger/money.ts";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import { limitBar } from "../limits/limit-bar.ts";

/** Use of a key's spend limits, with a bar for each. */
export function spendLimits({ limits, unknownLimits, spentTodayNanoUsd, spentThisMonthNanoUsd }: ListedKey): string {
  const { spendPerDayUsd, spendPerMonthUsd } = limits;
  const bar = (used: bigint, limit: string, words: string) => limitBar({ used, limit: parseNanoUsd(limit), unit: "usd", words });
  const parts = [
    ...(spendPerDayUsd === undefined ? [] : [bar(spentTodayNanoUsd, spendPerDayUsd, "today")]),
    ...(spendPerMonthUsd === undefined ? [] : [bar(spentThisMonthNanoUsd, spendPerMonthUsd, "this month")]),
    ...(unknownLimits.length === 0 ? [] : [html`<span>Set by a newer version: ${unknownLimits.join(", ")}</span>`]),
  ];
  return parts.length === 0 ? html`<span class="muted">None</span>` : html`<div class="limits">!${parts.join("")}</div>`;
}
