import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { KeyUsagePage } from "../../../ledger/usage/reports.ts";
import { addUsage, NO_USAGE_SUMS, type UsageSums } from "../../../ledger/usage/sums.ts";
import { modelSeries, tokensOf, type Bar, type Unit } from "../../charts/model-series.ts";
import { legend, stackedBars } from "../../charts/stacked-bars.ts";
import type { Member } from "../../session/visitor.ts";
import { daysOf, type DayRange } from "../../usage/range.ts";
import { runway } from "../../usage/days-left.ts";
import { empty } from "../empty.ts";
import { compact, compactCell, figure, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { rangePicker, rangeQuery } from "./range-picker.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";

export interface UsageView {
  visitor: Member;
  range: DayRange;
  unit: Unit;
  balance: Balance;
  /** At the pace of the last seven days, where there is one. */
  lastsDays: number | undefined;
  /** By day and model, or, of one day, by hour. */
  bars: readonly Bar[];
  byKey: KeyUsagePage;
}

export function usagePage({ visitor, range, unit, balance, lastsDays, bars, byKey }: UsageView): string {
  const models = sumBy(bars);
  const all = bars.reduce<UsageSums>(addUsage, NO_USAGE_SUMS);
  const query = new URLSearchParams(rangeQuery(range)).toString();
  const body = html`<div class="title">
      <h1>Usage</h1>
      <a class="button" href="/dashboard/usage/requests?${query}">View logs</a>
    </div>
    !${rangePicker("/dashboard/usage", range, unit === "money" ? {} : { unit })}
    <div class="cards">
      !${figure({ name: "Balance", value: usd(balance.postedNanoUsd), note: balanceNote(balance, lastsDays) })}
      !${figure({ name: "Spend", value: usd(all.chargeNanoUsd) })} !${figure({ name: "Requests", value: compact(all.requests) })}
      !${figure({ name: "Tokens", value: compact(tokensOf(all)) })}
    </div>
    !${all.requests === 0 ? nothing : charts({ range, unit, bars, models, byKey, query })}`;
  return layout({ title: "Usage", visitor, path: "/dashboard/usage", body });
}

const nothing = empty("No usage in this period", { note: "Requests show up here a moment after they end." });

interface Charts extends Pick<UsageView, "range" | "unit" | "bars" | "byKey"> {
  models: readonly (UsageSums & { model: string })[];
  query: string;
}

function charts({ range, unit, bars, models, byKey, query }: Charts): string {
  const isOneDay = range.fromDay === range.toDay;
  const columns = isOneDay ? HOURS : daysOf(range.fromDay, range.toDay);
  const column = isOneDay ? "hour" : "day";
  const series = modelSeries(bars, { columns, models: models.map(({ model }) => model), unit });
  const byColumn = columns
    .map((name) => ({ name, ...bars.filter((bar) => bar.column === name).reduce<UsageSums>(addUsage, NO_USAGE_SUMS) }))
    .filter(({ requests }) => requests > 0);
  return html`<section aria-labelledby="by-day">
      <h2 id="by-day">By ${column}</h2>
      !${unitPicker(unit, query)}
      <div class="card">
        !${stackedBars({ title: `${UNITS[unit].axis} by ${column} and model; the table below has the numbers`, columns, series, showValue: UNITS[unit].show })}
        !${legend(series.map(({ name }) => name))}
      </div>
      <details>
        <summary>As a table</summary>
        !${table(
          isOneDay ? "Hour (UTC)" : "Day",
          byColumn.map(({ name, ...sums }) => ({ name: html`${name}`, ...sums })),
        )}
      </details>
    </section>
    <section aria-labelledby="by-model">
      <h2 id="by-model">By model</h2>
      !${table(
        "Model",
        models.map(({ model, ...sums }) => ({
          name: html`<a href="/dashboard/usage/requests?${query}&model=${encodeURIComponent(model)}">!${clipped(model)}</a>`,
          ...sums,
        })),
      )}
    </section>
    <section aria-labelledby="by-key">
      <h2 id="by-key">By key</h2>
      !${table(
        "Key",
        byKey.keys.map(({ keyId, name, isRevoked, ...sums }) => ({
          name: html`<a href="/dashboard/usage/requests?${query}&key=${keyId}">!${clipped(name)}</a
            >!${isRevoked ? ' <span class="badge">deleted</span>' : ""}`,
          ...sums,
        })),
      )}
    </section>
    !${files(query)}`;
}

/** @param rows `name` is HTML. */
function table(head: string, rows: readonly (UsageSums & { name: string })[]): string {
  const body = rows.map(
    (row) =>
      html`<tr>
        <th scope="row" data-label="${head}"><span>!${row.name}</span></th>
        <td data-label="Requests" class="number">!${compactCell(row.requests)}</td>
        <td data-label="Input" class="number">!${compactCell(row.inputTokens)}</td>
        <td data-label="Cached input" class="number">!${compactCell(row.cachedInputTokens)}</td>
        <td data-label="Cache write" class="number">!${compactCell(row.cacheWriteTokens)}</td>
        <td data-label="Output" class="number">!${compactCell(row.outputTokens)}</td>
        <td data-label="Spend" class="number">!${usd(row.chargeNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(
    [
      head,
      { number: "Requests" },
      { number: "Input" },
      { number: "Cached input" },
      { number: "Cache write" },
      { number: "Output" },
      { number: "Spend" },
    ],
    body,
    "wide",
  );
}

/** The dearest first. */
function sumBy(rows: readonly Bar[]): (UsageSums & { model: string })[] {
  const sums = new Map<string, UsageSums>();
  for (const row of rows) sums.set(row.model, addUsage(sums.get(row.model) ?? NO_USAGE_SUMS, row));
  return [...sums]
    .map(([model, sum]) => ({ model, ...sum }))
    .sort((a, b) => (a.chargeNanoUsd === b.chargeNanoUsd ? 0 : a.chargeNanoUsd > b.chargeNanoUsd ? -1 : 1));
}

const HOURS = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);

const UNITS: Record<Unit, { name: string; axis: string; show: (value: number) => string }> = {
  money: {
    name: "Spend",
    axis: "USD",
    // Small amounts to the nano-dollar: a day may cost less than a cent.
    show: (value) =>
      `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 9 : 2 })}`,
  },
  tokens: {
    name: "Tokens",
    axis: "Tokens",
    show: (value) => value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 }),
  },
};

function unitPicker(unit: Unit, query: string): string {
  const links = (["money", "tokens"] as const).map(
    (each) =>
      html`<a href="/dashboard/usage?${query}&unit=${each}" !${each === unit ? 'aria-current="true"' : ""}
        >${UNITS[each].name}</a
      >`,
  );
  return html`<nav class="switch" aria-label="Metric">!${links.join("")}</nav>`;
}

/** The same rows as files, with exact numbers. */
function files(query: string): string {
  const views = { days: "days", models: "models", keys: "keys", requests: "logs" };
  const links = Object.entries(views).map(
    ([view, words]) => html`<a href="/dashboard/usage/csv/${view}?${query}" download>${words}</a>`,
  );
  return html`<p class="more">Export CSV: !${links.join(", ")}</p>`;
}

function balanceNote({ leasedNanoUsd }: Balance, lastsDays: number | undefined): string {
  const held = html`!${usd(leasedNanoUsd)} held for requests in progress`;
  if (lastsDays === undefined) return held;
  return html`Lasts ${runway(lastsDays)} at the pace of the last 7 days. !${held}.`;
}
