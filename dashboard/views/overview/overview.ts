import { html } from "ghtml";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { daysLeft, runway } from "../../usage/days-left.ts";
import { compact, figure, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { alerts } from "./alerts.ts";
import { limitsInUse } from "./limits-in-use.ts";
import { onboarding } from "./onboarding.ts";
import { recentRequests } from "./recent-requests.ts";
import { spendOfMonth } from "./spend-of-month.ts";
import { topKeys, topModels } from "./top-lists.ts";
import type { Activity, Overview } from "./overview-view.ts";

export function overviewPage(overview: Overview): string {
  const { visitor, canPay, activity } = overview;
  const body = html`<div class="title">
      <h1>Overview</h1>
      !${canPay && activity !== undefined && isAllowed(visitor.membership.role, "addCredit") ? html`<a class="button" href="/dashboard/credit/top-up">Add credit</a>` : ""}
    </div>
    !${alerts(overview)} !${figures(overview)} !${activity === undefined ? onboarding(overview) : activitySections(activity)}`;
  return layout({ title: "Overview", visitor, path: "/dashboard", body });
}

function figures({ balance, usage }: Overview): string {
  const lastsDays = daysLeft(balance.postedNanoUsd, usage.last7Days.chargeNanoUsd);
  const note =
    balance.postedNanoUsd <= 0n
      ? "Requests need a balance above zero."
      : lastsDays === undefined
        ? ""
        : html`Lasts ${runway(lastsDays)} at the pace of the last 7 days.`;
  const spent = (name: string, { chargeNanoUsd, requests }: { chargeNanoUsd: bigint; requests: number }) =>
    figure({
      name,
      value: usd(chargeNanoUsd),
      note: html`!${compact(requests)} ${requests === 1 ? "request" : "requests"}`,
    });
  return html`<div class="cards">
    !${figure({ name: "Balance", value: usd(balance.postedNanoUsd), note })} !${spent("Spend today (UTC)", usage.today)}
    !${spent("Spend, last 7 days", usage.last7Days)} !${spent("Spend, last 30 days", usage.last30Days)}
  </div>`;
}

function activitySections(activity: Activity): string {
  return html`!${spendOfMonth(activity)}
    <div class="columns">!${topModels(activity)} !${topKeys(activity)}</div>
    !${limitsInUse(activity.keys)} !${recentRequests(activity)}`;
}
