import { html } from "ghtml";
import { bucketsOf } from "../../charts/buckets.ts";
import { modelColours } from "../../charts/model-colours.ts";
import { groupSeries } from "../../charts/series.ts";
import { legend } from "../../charts/legend.ts";
import { stackedBars } from "../../charts/stacked-bars.ts";
import { showDollars, tickDollars } from "../usage/usage-chart.ts";
import type { Activity } from "./overview-view.ts";

export function spendOfMonth({ bars, fromDay, toDay, modelRanks }: Activity): string {
  const buckets = bucketsOf({ fromDay, toDay }, "day");
  const series = groupSeries(bars, { buckets: buckets.map(({ id }) => id), metric: "money" });
  const names = series.map(({ name }) => name);
  const colours = modelColours(names, modelRanks);
  const title = "USD by day and model; the usage page has the numbers";
  const linkOf = (name: string | null) => `/dashboard/usage?range=30d&only=${encodeURIComponent(name ?? "")}`;
  return html`<section>
    <div class="title">
      <h2>Spend, last 30 days</h2>
      <a href="/dashboard/usage">View usage</a>
    </div>
    <div class="card">
      !${stackedBars({ title, buckets, series, colours, showValue: showDollars, showTick: tickDollars })}
      !${legend({ names, colours, only: undefined }, linkOf)}
    </div>
  </section>`;
}
