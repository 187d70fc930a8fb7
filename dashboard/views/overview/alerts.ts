import { html } from "ghtml";
import { usd } from "../figures.ts";
import type { Overview } from "./overview-view.ts";

type Shown = Pick<Overview, "balance" | "alertNanoUsd" | "autoTopUp" | "activity">;

/** Alerts that need attention before requests are refused. */
export function alerts({ balance, alertNanoUsd, autoTopUp, activity }: Shown): string {
  const { postedNanoUsd } = balance;
  const isLow = alertNanoUsd !== null && postedNanoUsd > 0n && postedNanoUsd < alertNanoUsd;
  const found = [
    ...(activity !== undefined && postedNanoUsd <= 0n
      ? [alert("Your credit is used up: requests are refused.", "/dashboard/credit", "Add credit")]
      : []),
    ...(isLow ? [alert(html`The balance is below your alert of !${usd(alertNanoUsd)}.`, "/dashboard/credit", "Add credit")] : []),
    ...(autoTopUp?.stoppedBecause ? [alert(STOPPED[autoTopUp.stoppedBecause], "/dashboard/credit#auto-top-up", "Review")] : []),
  ];
  return found.length === 0 ? "" : html`<section aria-label="Alerts">!${found.join("")}</section>`;
}

const STOPPED = {
  declined: "Automatic top-up is off: the card was declined.",
  returned: "Automatic top-up is off: a payment was refunded or disputed.",
  other: "Automatic top-up is off.",
} as const;

/** @param words HTML. */
function alert(words: string, path: string, action: string): string {
  return html`<p class="alert">!${words} <a href="${path}">${action}</a></p>`;
}
