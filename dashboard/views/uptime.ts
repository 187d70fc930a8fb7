import { html } from "ghtml";
import { dayOf, daysBefore } from "../../contract/days.ts";
import type { ModelDay } from "../../ledger/usage/model-hours.ts";

export const UPTIME_DAYS = 30;

/** Fewer failures per hundred are normal. */
const DEGRADED_PERCENT = 5;

type Counts = Pick<ModelDay, "answered" | "failed">;

/** The first day of the bars. */
export function firstUptimeDay(nowMs: number): string {
  return daysBefore(dayOf(nowMs), UPTIME_DAYS - 1);
}

/** A bar for each of the last days. A model's usage is confidential: shares are shown, never counts. */
export function uptimeBars(days: readonly ModelDay[], nowMs: number): string {
  const first = firstUptimeDay(nowMs);
  const bars = Array.from({ length: UPTIME_DAYS }, (_, index) => {
    const day = daysBefore(dayOf(nowMs), UPTIME_DAYS - 1 - index);
    const counts = days.find((each) => each.day === day);
    return html`<span class="${stateOf(counts)}" title="${day}: ${share(counts) ?? "no requests"}"></span>`;
  });
  const sum = sumOf(days.filter(({ day }) => day >= first));
  return html`<div class="uptime">
    <div
      class="bars"
      role="img"
      aria-label="${share(sum) === undefined ? "No requests" : `${share(sum)} of requests succeeded`} in the last ${UPTIME_DAYS} days"
    >
      !${bars}
    </div>
    <p class="muted small" aria-hidden="true"><span>${UPTIME_DAYS} days ago</span><span>today</span></p>
  </div>`;
}

/** "99.95%" of these days' requests; undefined if there were none. */
export function uptimeOf(days: readonly ModelDay[]): string | undefined {
  return share(sumOf(days));
}

function sumOf(days: readonly Counts[]): Counts {
  return days.reduce((sum, { answered, failed }) => ({ answered: sum.answered + answered, failed: sum.failed + failed }), {
    answered: 0,
    failed: 0,
  });
}

/** Truncated, not rounded: one failure in a million is not 100%. */
function share(counts: Counts | undefined): string | undefined {
  if (counts === undefined || counts.answered === 0) return undefined;
  const hundredths = Math.floor(((counts.answered - counts.failed) / counts.answered) * 10_000);
  return hundredths === 10_000 ? "100%" : `${(hundredths / 100).toFixed(2)}%`;
}

function stateOf(counts: Counts | undefined): string {
  if (counts === undefined || counts.answered === 0) return "";
  if (counts.failed === 0) return "good";
  return counts.failed * 100 < counts.answered * DEGRADED_PERCENT ? "fair" : "bad";
}
