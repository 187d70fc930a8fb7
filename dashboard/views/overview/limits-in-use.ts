import { html } from "ghtml";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import { spendLimits } from "../keys/spend-limits.ts";
import { clipped } from "../responsive-table.ts";

const MOST = 6;

/** Spend limits of keys, and their use. */
export function limitsInUse(keys: readonly ListedKey[]): string {
  const limited = keys.filter(({ limits }) => limits.spendPerDayUsd !== undefined || limits.spendPerMonthUsd !== undefined);
  if (limited.length === 0) return "";
  const cards = limited.slice(0, MOST).map(
    (key) =>
      html`<div class="card">
        <h3><a href="/dashboard/keys/${key.publicId}">!${clipped(key.name)}</a></h3>
        !${spendLimits(key)}
      </div>`,
  );
  return html`<section>
    <h2>Limits in use</h2>
    <div class="cards">!${cards.join("")}</div>
  </section>`;
}
