import { html } from "ghtml";
import type { PerformanceBin, PerformanceGroup } from "../../../ledger/usage/performance-report.ts";
import { bucketsOf, stepOf } from "../../charts/buckets.ts";
import { legend } from "../../charts/legend.ts";
import { modelColours } from "../../charts/model-colours.ts";
import { lines } from "../../charts/lines.ts";
import type { Member } from "../../session/visitor.ts";
import { answeredOf, groupsOf, linesOf, METRICS, valueOf, type PerformanceMetric, type Share } from "../../usage/performance.ts";
import type { DayRange } from "../../usage/range.ts";
import { empty } from "../empty.ts";
import { compact, figure } from "../figures.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { rangePicker, rangeQuery } from "./range-picker.ts";
import { usageTabs } from "./usage-tabs.ts";

const PATH = "/dashboard/usage/performance";
const GROUPINGS = { all: "All", model: "Model", key: "Key", member: "Member" } as const;

/** The chart's choices; all of them are in the page's address. */
export interface PerformanceChoice {
  metric: PerformanceMetric;
  by: PerformanceGroup;
  /** The groups to draw. */
  at: Share;
  /** Name of the only line to draw; undefined: all. */
  only: string | undefined;
}

export interface PerformanceView {
  visitor: Member;
  range: DayRange;
  choice: PerformanceChoice;
  /** All measures of all requests. */
  all: readonly PerformanceBin[];
  /** All measures by group; by model if ungrouped. */
  table: readonly PerformanceBin[];
  /** The chosen measure by group and step. */
  drawn: readonly PerformanceBin[];
  /** Display names of groups whose ids differ from them. */
  names: ReadonlyMap<string, string>;
  /** Names of all models, which determine their colours. */
  modelRanks: readonly string[];
}

export function performancePage(view: PerformanceView): string {
  const { visitor, range, choice, all } = view;
  const query = new URLSearchParams(rangeQuery(range)).toString();
  const body = html`<div class="title">
      <h1>Usage</h1>
      <a class="button" href="/dashboard/usage/requests?${query}">View logs</a>
    </div>
    !${usageTabs(PATH, range)} !${rangePicker(PATH, range, choiceQuery(choice))}
    <div class="cards">
      !${figure({ name: "Error rate", value: show("errors", valueOf("errors", all, "p50")), note: html`of !${compact(answeredOf(all))} ${answeredOf(all) === 1 ? "request" : "requests"}` })}
      !${percentiles("latency", all)} !${percentiles("first-token", all)}
      !${figure({ name: METRICS.speed.name, value: show("speed", valueOf("speed", all, "p50")), note: "p50, after the first token" })}
    </div>
    !${answeredOf(all) === 0 ? nothing : sections(view)}`;
  return layout({ title: "Performance", visitor, path: "/dashboard/usage", body });
}

const nothing = empty("No requests in this period", { note: "Requests show up here a moment after they end." });

function percentiles(metric: PerformanceMetric, all: readonly PerformanceBin[]): string {
  const high = valueOf(metric, all, "p95");
  const note = high === null ? "" : html`p50, and ${show(metric, high)} at p95`;
  return figure({ name: METRICS[metric].name, value: show(metric, valueOf(metric, all, "p50")), note });
}

function sections({ range, choice, table, drawn, names, modelRanks }: PerformanceView): string {
  const { metric, by, at, only } = choice;
  const step = stepOf(range);
  const buckets = bucketsOf(range, step);
  const nameOf = (group: string) => names.get(group) ?? group;
  const share = by === "all" ? undefined : at;
  const series = linesOf(drawn, { metric, share, step, buckets: buckets.map(({ id }) => id), nameOf });
  const linkTo = (name: string | null) =>
    `${PATH}?${new URLSearchParams({ ...rangeQuery(range), ...choiceQuery(choice), only: name ?? "" }).toString()}`;
  const title = `${METRICS[metric].name} by ${step}${by === "all" ? "" : ` and ${GROUPINGS[by].toLowerCase()}`}`;
  const found = series.find(({ name }) => name === only)?.name;
  const showValue = (value: number) => show(metric, value);
  const seriesNames = series.map(({ name }) => name);
  const colours = by === "model" ? modelColours(seriesNames, modelRanks) : undefined;
  const chart = lines({ title, buckets, series, colours, only: found, showValue, showTick: (value) => tick(metric, value) });
  return html`<section aria-labelledby="over-time">
      <h2 id="over-time">${METRICS[metric].name}</h2>
      <div class="card">
        <div class="chart-bar">!${metricPicker(choice, range)} !${groupPicker(choice, range)} !${sharePicker(choice, range)}</div>
        !${chart} !${legend({ names: seriesNames, colours, only: found }, linkTo)}
      </div>
    </section>
    <section aria-labelledby="by-group">
      <h2 id="by-group">By ${by === "all" ? "model" : GROUPINGS[by].toLowerCase()}</h2>
      !${groupTable(by === "all" ? "model" : by, table, nameOf)}
    </section>
    <p class="muted small footnote">
      Latency and tokens per second are those of completed requests. The error rate counts requests that the model server failed
      or cut short; requests that you canceled, and those refused for limits or credit, are left out. Percentiles are within 5% of
      the exact value.
    </p>`;
}

/** Left out where names would have too little room; the metric's own chart shows it. */
const MINOR = "TTFT p95";

function groupTable(by: keyof typeof GROUPINGS, bins: readonly PerformanceBin[], nameOf: (group: string) => string): string {
  const head = GROUPINGS[by];
  const rows = groupsOf(bins).map(({ group, bins: own }) => {
    const cell = (label: string, metric: PerformanceMetric, at: Share = "p50") =>
      html`<td data-label="${label}" class="number !${label === MINOR ? "minor" : ""}">
        ${show(metric, valueOf(metric, own, at))}
      </td>`;
    return html`<tr>
      <th scope="row" data-label="${head}">!${clipped(nameOf(group))}</th>
      <td data-label="Requests" class="number">${answeredOf(own).toLocaleString("en-US")}</td>
      !${cell("Error rate", "errors")} !${cell("Latency p50", "latency")} !${cell("Latency p95", "latency", "p95")}
      !${cell("TTFT p50", "first-token")} !${cell("TTFT p95", "first-token", "p95")} !${cell("Tokens/s", "speed")}
    </tr>`;
  });
  const numbers = ["Requests", "Error rate", "Latency p50", "Latency p95", "TTFT p50", "TTFT p95", "Tokens/s"];
  return responsiveTable([head, ...numbers.map((number) => ({ number, isMinor: number === MINOR }))], rows, "widest");
}

function metricPicker(choice: PerformanceChoice, range: DayRange): string {
  return picker("Metric", choice, range, {
    latency: { words: METRICS.latency.name, changes: { metric: "latency" } },
    "first-token": { words: METRICS["first-token"].name, changes: { metric: "first-token" } },
    speed: { words: METRICS.speed.name, changes: { metric: "speed" } },
    errors: { words: METRICS.errors.name, changes: { metric: "errors" } },
  });
}

function groupPicker(choice: PerformanceChoice, range: DayRange): string {
  return picker("Group by", choice, range, {
    all: { words: GROUPINGS.all, changes: { by: "all" } },
    model: { words: GROUPINGS.model, changes: { by: "model" } },
    key: { words: GROUPINGS.key, changes: { by: "key" } },
    member: { words: GROUPINGS.member, changes: { by: "member" } },
  });
}

/** Without groups both percentiles are drawn. */
function sharePicker(choice: PerformanceChoice, range: DayRange): string {
  if (choice.by === "all" || !METRICS[choice.metric].hasPercentiles) return "";
  return picker("Percentile", choice, range, {
    p50: { words: "p50", changes: { at: "p50" } },
    p95: { words: "p95", changes: { at: "p95" } },
  });
}

function picker(
  label: string,
  choice: PerformanceChoice,
  range: DayRange,
  offered: Readonly<Record<string, { words: string; changes: Partial<PerformanceChoice> }>>,
): string {
  const links = Object.values(offered).map(({ words, changes }) => {
    const next = { ...choice, ...changes };
    const query = new URLSearchParams({ ...rangeQuery(range), ...choiceQuery(next) }).toString();
    const isChosen = next.metric === choice.metric && next.by === choice.by && next.at === choice.at;
    return html`<a href="${PATH}?${query}" !${isChosen ? 'aria-current="true"' : ""}>${words}</a>`;
  });
  return html`<nav class="switch" aria-label="${label}">!${links.join("")}</nav>`;
}

function choiceQuery({ metric, by, at }: PerformanceChoice): Record<string, string> {
  return {
    ...(metric === "latency" ? {} : { metric }),
    ...(by === "all" ? {} : { by }),
    ...(at === "p95" ? {} : { at }),
  };
}

/** Format of milliseconds, tokens per second or percent. */
function show(metric: PerformanceMetric, value: number | null): string {
  if (value === null) return "–";
  switch (metric) {
    case "latency":
    case "first-token":
      return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(value < 10_000 ? 2 : 1)} s`;
    case "speed":
      return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
    case "errors":
      return `${value.toFixed(value === 0 || value >= 10 ? 0 : value < 0.1 ? 3 : 1)}%`;
  }
}

/** On the axis: short, and in one unit. */
function tick(metric: PerformanceMetric, value: number): string {
  switch (metric) {
    case "latency":
    case "first-token":
      return `${Number((value / 1000).toPrecision(3))} s`;
    case "speed":
      return value.toLocaleString("en-US");
    case "errors":
      return `${Number(value.toPrecision(3))}%`;
  }
}
