import { html } from "ghtml";
import { bucketsOf, type Step } from "../../charts/buckets.ts";
import { modelColours } from "../../charts/model-colours.ts";
import { classSeries, groupSeries, METRICS, type Bar, type Metric, type Series } from "../../charts/series.ts";
import { legend } from "../../charts/legend.ts";
import { stackedBars } from "../../charts/stacked-bars.ts";
import type { DayRange } from "../../usage/range.ts";
import type { LabelChoices } from "../../usage/labels.ts";
import type { UnitKind } from "../unit-columns.ts";
import { hiddenFields, rangeQuery } from "./range-picker.ts";

const GROUPINGS = {
  model: "Model",
  key: "Key",
  project: "Project",
  member: "Member",
  tag: "Tag",
  user: "End user",
  class: "Token class",
} as const;
type Grouping = keyof typeof GROUPINGS;

/** The drawn part of the usage; all of it is in the page's address. */
export interface ChartChoice {
  metric: Metric;
  by: Grouping;
  /** The tag that is grouped by, if it is by tag; undefined: the account has none. */
  tag: string | undefined;
  /** Id of the only project to show; undefined: all usage. */
  project: string | undefined;
  /** Name of the only series to draw; undefined: all. */
  only: string | undefined;
}

export interface UsageChart {
  range: DayRange;
  choice: ChartChoice;
  step: Step;
  /** By what usage can be grouped beside model, key and member. */
  labels: LabelChoices;
  hasProjects: boolean;
  /** Kinds of units that the period has. */
  units: readonly UnitKind[];
  /** Of the chosen grouping. */
  bars: readonly Bar[];
  /** Names of all models, which determine their colours. */
  modelRanks: readonly string[];
}

const PATH = "/dashboard/usage";

export function usageChart({ range, choice, step, labels, hasProjects, units, bars, modelRanks }: UsageChart): string {
  const { metric, by, tag } = choice;
  const buckets = bucketsOf(range, step);
  const ids = buckets.map(({ id }) => id);
  const series: readonly Series[] = by === "class" ? classSeries(bars, ids) : groupSeries(bars, { buckets: ids, metric });
  const names = series.map(({ name }) => name);
  const colours = by === "model" ? modelColours(names, modelRanks) : undefined;
  const only = names.find((name) => name === choice.only);
  const linkTo = (changes: Partial<Record<"unit" | "by" | "only", string>>) =>
    `${PATH}?${new URLSearchParams({ ...rangeQuery(range), ...choiceQuery(choice), ...changes }).toString()}`;
  const title = `${UNITS[metric].axis} by ${step} and ${by === "tag" ? `tag ${tag}` : GROUPINGS[by].toLowerCase()}; the table below has the numbers`;
  return html`<div class="card">
    <div class="chart-bar">!${metricPicker(choice, range, units)} !${groupPicker(choice, range, { ...labels, hasProjects })}</div>
    !${by === "tag" ? tagPicker(choice, range, labels) : ""}
    !${stackedBars({ title, buckets, series, colours, only, showValue: UNITS[metric].show, showTick: UNITS[metric].tick })}
    !${legend({ names, colours, only }, (name) => linkTo({ only: name ?? "" }))}
  </div>`;
}

/** A choice as a page's query. */
export function choiceQuery({ metric, by, tag, project }: ChartChoice): Record<string, string> {
  return {
    ...(metric === "money" ? {} : { unit: metric }),
    ...(by === "model" ? {} : { by }),
    ...(by === "tag" && tag !== undefined ? { tag } : {}),
    ...(project === undefined ? {} : { project }),
  };
}

function metricPicker({ metric, by, tag, project }: ChartChoice, range: DayRange, units: readonly UnitKind[]): string {
  const offered: Metric[] = ["money", "requests", "tokens"];
  offered.push(...units);
  // A chosen one stays visible in a period without any.
  if (!offered.includes(metric)) offered.push(metric);
  const links = offered.map((each) => {
    const next = { metric: each, by: by === "class" && each !== "tokens" ? "model" : by, tag, project, only: undefined } as const;
    return choiceLink(METRICS[each], next, { range, isChosen: each === metric });
  });
  return html`<nav class="switch" aria-label="Metric">!${links.join("")}</nav>`;
}

function groupPicker(
  { metric, by, tag, project }: ChartChoice,
  range: DayRange,
  { hasSome, tagNames, hasProjects }: LabelChoices & { hasProjects: boolean },
): string {
  const offered: Grouping[] = ["model", "key", ...(hasProjects ? (["project"] as const) : []), "member"];
  if (tagNames.length > 0) offered.push("tag");
  if (hasSome) offered.push("user");
  if (metric === "tokens") offered.push("class");
  const links = offered.map((each) =>
    choiceLink(GROUPINGS[each], { metric, by: each, tag, project, only: undefined }, { range, isChosen: each === by }),
  );
  return html`<nav class="switch" aria-label="Group by">!${links.join("")}</nav>`;
}

function tagPicker(choice: ChartChoice, range: DayRange, { tagNames }: LabelChoices): string {
  const { tag: _chosen, ...kept } = { ...rangeQuery(range), ...choiceQuery(choice) };
  const options = tagNames.map((name) => html`<option !${name === choice.tag ? "selected" : ""}>${name}</option>`);
  return html`<form method="get" action="${PATH}" class="filters">
    !${hiddenFields(kept)}
    <label
      >Tag
      <select name="tag">
        !${options.join("")}
      </select></label
    >
    <button>Show</button>
  </form>`;
}

function choiceLink(words: string, choice: ChartChoice, { range, isChosen }: { range: DayRange; isChosen: boolean }): string {
  const query = new URLSearchParams({ ...rangeQuery(range), ...choiceQuery(choice) }).toString();
  return html`<a href="${PATH}?${query}" !${isChosen ? 'aria-current="true"' : ""}>${words}</a>`;
}

const short = (value: number) => value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });

interface Unit {
  axis: string;
  show(value: number): string;
  tick(value: number, highest: number): string;
}

const UNITS: Record<Metric, Unit> = {
  money: { axis: "USD", show: showDollars, tick: tickDollars },
  requests: { axis: "Requests", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
  tokens: { axis: "Tokens", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
  searches: { axis: "Searches", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
  images: { axis: "Images", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
  minutes: { axis: "Minutes", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
  characters: { axis: "Characters", show: (value) => value.toLocaleString("en-US"), tick: tickCount },
};

/** Small amounts to the nano-dollar: a day may cost less than a cent. */
export function showDollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: value < 0.1 ? 9 : 2 })}`;
}

/** There is no half request. */
export function tickCount(value: number): string {
  return Number.isInteger(value) ? short(value) : "";
}

/** All ticks of an axis in one form: that of its highest. */
export function tickDollars(value: number, highest: number): string {
  if (highest >= 10_000) return `$${short(value)}`;
  if (value < 0.1) return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
  const decimals = highest >= WHOLE_DOLLARS ? 0 : 2;
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}

/** From here on, the ticks of an axis are whole. */
const WHOLE_DOLLARS = 10;
