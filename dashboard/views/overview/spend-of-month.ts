import { html } from "ghtml";
import { daysOf } from "../../usage/range.ts";
import { modelSeries } from "../../charts/model-series.ts";
import { legend, stackedBars } from "../../charts/stacked-bars.ts";
import type { Activity } from "./overview-view.ts";

export function spendOfMonth({ bars, fromDay, toDay }: Activity): string {
  const columns = daysOf(fromDay, toDay);
  const models = [...new Set(bars.map(({ model }) => model))];
  const series = modelSeries(bars, { columns, models, unit: "money" });
  const showValue = (value: number) =>
    `$${value.toLocaleString("en-US", { maximumFractionDigits: 2, minimumFractionDigits: 2 })}`;
  return html`<section>
    <div class="title">
      <h2>Spend, last 30 days</h2>
      <a href="/dashboard/usage">View usage</a>
    </div>
    <div class="card">
      !${stackedBars({ title: "USD by day and model; the usage page has the numbers", columns, series, showValue })}
      !${legend(series.map(({ name }) => name))}
    </div>
  </section>`;
}
