import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { KeyUsagePage } from "../../../ledger/usage/reports.ts";
import type { NamedProject } from "../../../ledger/projects/project-list.ts";
import type { UsageOfProject } from "../../../ledger/usage/project-series.ts";
import type { ProviderKeyUsage } from "../../../ledger/usage/provider-key-usage.ts";
import type { UsageOfMember } from "../../../ledger/usage/member-series.ts";
import { addUsage, NO_USAGE_SUMS, subtractUsage, type UsageSums } from "../../../ledger/usage/sums.ts";
import { bucketsOf, type Step } from "../../charts/buckets.ts";
import { totalTokensOf } from "../../../contract/usage.ts";
import type { Bar } from "../../charts/series.ts";
import type { Member } from "../../session/visitor.ts";
import { LABEL_BOUNDS, tagName } from "../../../contract/labels.ts";
import { nameOfNone, shownValue, type LabelChoices, type LabelUsage } from "../../usage/labels.ts";
import { NO_PROJECT } from "../../usage/projects.ts";
import { minutesOf } from "../../minutes.ts";
import { runway } from "../../usage/days-left.ts";
import type { DayRange } from "../../usage/range.ts";
import { compact, compactCell, figure, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { unitColumns } from "../unit-columns.ts";
import { noRequests } from "./no-requests.ts";
import { hiddenFields, rangePicker, rangeQuery } from "./range-picker.ts";
import { usageTabs } from "./usage-tabs.ts";
import { choiceQuery, usageChart, type ChartChoice } from "./usage-chart.ts";

export interface UsageView {
  visitor: Member;
  range: DayRange;
  choice: ChartChoice;
  step: Step;
  balance: Balance;
  /** At the pace of the last seven days, if any. */
  lastsDays: number | undefined;
  /** By bucket and model. */
  bars: readonly Bar[];
  /** By bucket and name of the key, member or label with the highest charges; the others are combined. Empty by model or class. */
  groupBars: readonly Bar[];
  byKey: KeyUsagePage;
  /** To show one of them alone. */
  projects: readonly NamedProject[];
  /** Empty if one is shown alone, and while no key that was used is in a project. */
  byProject: readonly UsageOfProject[];
  byMember: readonly UsageOfMember[];
  /** By the chosen tag, or by end user; undefined: usage is grouped by something else. */
  byLabel: LabelUsage | undefined;
  labels: LabelChoices;
  memberNames: ReadonlyMap<string, string>;
  /** Names of all models, which determine their colours. */
  modelRanks: readonly string[];
  /** The part that was sent with the account's own keys; empty if one project is shown alone. */
  providerKeys: readonly ProviderKeyUsage[];
}

export function usagePage(view: UsageView): string {
  const { visitor, range, choice, balance, lastsDays, bars, projects } = view;
  const all = bars.reduce<UsageSums>(addUsage, NO_USAGE_SUMS);
  const { project } = choice;
  const query = new URLSearchParams({ ...rangeQuery(range), ...(project === undefined ? {} : { project }) }).toString();
  const body = html`<div class="title">
      <h1>Usage</h1>
      <a class="button" href="/dashboard/usage/requests?${query}">View logs</a>
    </div>
    !${usageTabs("/dashboard/usage", range)} !${rangePicker("/dashboard/usage", range, choiceQuery(choice))}
    !${projects.length === 0 ? "" : projectFilter(projects, choice, range)}
    <div class="cards">
      !${figure({ name: "Balance", value: usd(balance.postedNanoUsd), note: balanceNote(balance, lastsDays) })}
      !${figure({ name: "Spend", value: usd(all.chargeNanoUsd) })} !${figure({ name: "Requests", value: compact(all.requests) })}
      !${figure({ name: "Tokens", value: compact(totalTokensOf(all)) })}
      !${all.searches === 0 ? "" : figure({ name: "Searches", value: compact(all.searches) })}
      !${all.images === 0 ? "" : figure({ name: "Images", value: compact(all.images) })}
      !${all.characters === 0 ? "" : figure({ name: "Characters", value: compact(all.characters) })}
      !${all.seconds === 0 ? "" : figure({ name: "Minutes of audio", value: compact(minutesOf(all)) })}
    </div>
    !${view.providerKeys.length === 0 ? "" : ownKeys(view.providerKeys)} !${all.requests === 0 ? nothing : sections(view, query)}`;
  return layout({ title: "Usage", visitor, path: "/dashboard/usage", body });
}

function ownKeys(parts: readonly ProviderKeyUsage[]): string {
  const words = parts.map(
    ({ provider, requests, chargeNanoUsd }) =>
      html`${requests.toLocaleString("en-US")} with your own key for ${provider}, for !${usd(chargeNanoUsd)} in fees`,
  );
  return html`<p class="muted small">Of these requests: !${words.join("; ")}.</p>`;
}

function projectFilter(projects: readonly NamedProject[], choice: ChartChoice, range: DayRange): string {
  const { project } = choice;
  const kept = { ...rangeQuery(range), ...choiceQuery({ ...choice, project: undefined }) };
  const options = projects.map(
    ({ id, name }) => html`<option value="${id}" !${id === project ? "selected" : ""}>${name}</option>`,
  );
  return html`<form method="get" action="/dashboard/usage" class="filters">
    !${hiddenFields(kept)}
    <label
      ><span class="hidden">Project of the key</span
      ><select name="project">
        <option value="">All projects</option>
        !${options.join("")}
      </select></label
    >
    <button>Filter</button>
    !${project === undefined ? "" : html`<a href="/dashboard/usage?${new URLSearchParams(kept).toString()}">Clear filter</a>`}
  </form>`;
}

const nothing = noRequests("No usage in this period");

function sections(view: UsageView, query: string): string {
  const { range, choice, step, bars, groupBars, byKey, byProject, byMember, byLabel, labels, memberNames, modelRanks } = view;
  const models = sumBy(bars);
  const drawn = choice.by === "model" || choice.by === "class" ? bars : groupBars;
  const byBucket = bucketsOf(range, step)
    .map(({ id, name }) => ({
      name: html`${name}`,
      ...bars.filter(({ bucket }) => bucket === id).reduce<UsageSums>(addUsage, NO_USAGE_SUMS),
    }))
    .filter(({ requests }) => requests > 0);
  return html`<section aria-labelledby="by-time">
      <h2 id="by-time">By ${step}</h2>
      !${usageChart({ range, choice, step, labels, hasProjects: byProject.length > 0, units: unitColumns(models).map(({ metric }) => metric), bars: drawn, modelRanks })}
      <details>
        <summary>As a table</summary>
        !${table(HEADS[step], byBucket)}
      </details>
    </section>
    !${byLabel === undefined ? "" : labelSection(view, byLabel, query)}
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
    !${byProject.length === 0 ? "" : projectSection(byProject, query)}
    <section aria-labelledby="by-member">
      <h2 id="by-member">By member</h2>
      <p class="muted small">Usage is attributed to the member who created the key.</p>
      !${table(
        "Member",
        byMember.map(({ personId, ...sums }) => ({ name: memberName(personId, memberNames, query), ...sums })),
      )}
    </section>
    !${files(query, choice.project !== undefined)}`;
}

function labelSection({ bars }: UsageView, { dimension, values, next, labelled }: LabelUsage, query: string): string {
  const name = tagName(dimension);
  const title = name === undefined ? "By end user" : `By tag: ${name}`;
  const none = subtractUsage(bars.reduce<UsageSums>(addUsage, NO_USAGE_SUMS), labelled);
  const rows = values.map(({ value, ...sums }) => ({ name: labelLink(name, value, query), ...sums }));
  const isCut = values.some(({ value }) => value === "");
  const groupBy = new URLSearchParams({ group_by: dimension }).toString();
  const files = (["csv", "json"] as const).map(
    (format) => html`<a href="/dashboard/usage/${format}/labels?${query}&${groupBy}" download>${format.toUpperCase()}</a>`,
  );
  return html`<section aria-labelledby="by-label">
    <h2 id="by-label">${title}</h2>
    !${isCut ? html`<p class="muted small">Other: values beyond the first ${LABEL_BOUNDS.valuesADay.toLocaleString("en-US")} of a day.</p>` : ""}
    !${table(name === undefined ? "End user" : "Value", [...rows, ...(none.requests > 0 ? [{ name: nameOfNone(dimension), ...none }] : [])])}
    <p class="more">!${next === null ? "" : `The ${values.length} with the highest spend. `}Export all: !${files.join(", ")}</p>
  </section>`;
}

function labelLink(name: string | undefined, value: string, query: string): string {
  if (value === "") return shownValue(value);
  const filter = new URLSearchParams(name === undefined ? { end_user: value } : { tag: `${name}=${value}` }).toString();
  return html`<a href="/dashboard/usage/requests?${query}&${filter}">!${clipped(value)}</a>`;
}

function projectSection(byProject: readonly UsageOfProject[], query: string): string {
  const rows = byProject.map(({ projectId, name, isDeleted, ...sums }) => {
    const link = html`<a href="/dashboard/usage/requests?${query}&project=${projectId}">!${clipped(name)}</a
      >!${isDeleted ? ' <span class="badge">deleted</span>' : ""}`;
    return { name: projectId === "" ? NO_PROJECT : link, ...sums };
  });
  return html`<section aria-labelledby="by-project">
    <h2 id="by-project">By project</h2>
    <p class="muted small">Usage is attributed to the project that the key is in now.</p>
    !${table("Project", rows)}
  </section>`;
}

function memberName(personId: string, names: ReadonlyMap<string, string>, query: string): string {
  const name = clipped(names.get(personId) ?? "Former member");
  return personId === "" ? name : html`<a href="/dashboard/usage/requests?${query}&member=${personId}">!${name}</a>`;
}

/** What is charged. Few customers use all of it. */
const COUNTS: readonly { name: string; of: (sums: UsageSums) => number }[] = [
  { name: "Input", of: ({ inputTokens }) => inputTokens },
  { name: "Cached input", of: ({ cachedInputTokens }) => cachedInputTokens },
  { name: "Cache write", of: ({ cacheWriteTokens }) => cacheWriteTokens },
  { name: "Output", of: ({ outputTokens }) => outputTokens },
  { name: "Searches", of: ({ searches }) => searches },
  { name: "Images", of: ({ images }) => images },
  { name: "Characters", of: ({ characters }) => characters },
  { name: "Minutes of audio", of: minutesOf },
];

/** @param rows `name` is HTML. */
function table(head: string, rows: readonly (UsageSums & { name: string })[]): string {
  const counts = COUNTS.filter(({ of }) => rows.some((row) => of(row) > 0));
  const body = rows.map(
    (row) =>
      html`<tr>
        <th scope="row" data-label="${head}"><span>!${row.name}</span></th>
        <td data-label="Requests" class="number">${row.requests.toLocaleString("en-US")}</td>
        !${counts.map(({ name, of }) => html`<td data-label="${name}" class="number">!${compactCell(of(row))}</td>`)}
        <td data-label="Spend" class="number">!${usd(row.chargeNanoUsd)}</td>
      </tr>`,
  );
  const numbers = ["Requests", ...counts.map(({ name }) => name), "Spend"];
  return responsiveTable([head, ...numbers.map((number) => ({ number }))], body, counts.length > 5 ? "whole" : "wide");
}

/** Highest charge first. */
function sumBy(rows: readonly Bar[]): (UsageSums & { model: string })[] {
  const sums = new Map<string, UsageSums>();
  for (const row of rows) sums.set(row.group, addUsage(sums.get(row.group) ?? NO_USAGE_SUMS, row));
  return [...sums]
    .map(([model, sum]) => ({ model, ...sum }))
    .sort((a, b) => (a.chargeNanoUsd === b.chargeNanoUsd ? 0 : a.chargeNanoUsd > b.chargeNanoUsd ? -1 : 1));
}

const HEADS = { hour: "Hour (UTC)", day: "Day", week: "Week", month: "Month" } as const;

/** The same rows as files, with exact numbers. */
function files(query: string, isOfProject: boolean): string {
  const views = { days: "days", models: "models", keys: "keys", projects: "projects", members: "members", requests: "logs" };
  const links = Object.entries(views)
    .filter(([view]) => view !== "projects" || !isOfProject)
    .map(([view, words]) => html`<a href="/dashboard/usage/csv/${view}?${query}" download>${words}</a>`);
  return html`<p class="more">Export CSV: !${links.join(", ")}</p>`;
}

function balanceNote({ leasedNanoUsd }: Balance, lastsDays: number | undefined): string {
  const held = leasedNanoUsd === 0n ? [] : [html`Up to !${usd(leasedNanoUsd)} is reserved for running and upcoming requests.`];
  const lasts = lastsDays === undefined ? [] : [html`Lasts ${runway(lastsDays)} at the pace of the last 7 days.`];
  return [...lasts, ...held].join(" ");
}
