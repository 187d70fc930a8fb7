import { END_USER, tagDimension } from "../../contract/labels.ts";
import { readAccountLabels } from "../../ledger/labels/account-labels.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { labelDays, listTagNames, usageByLabel, usageWithLabel, type LabelUsagePage } from "../../ledger/usage/label-reports.ts";
import { NO_USAGE_SUMS, type UsageSums } from "../../ledger/usage/sums.ts";
import { bucketOf, stepOf, type Step } from "../charts/buckets.ts";
import { MAX_SERIES, restOf, type Bar } from "../charts/series.ts";
import type { DayRange } from "./range.ts";

/** By which labels an account's usage can be grouped. */
export interface LabelChoices {
  hasSome: boolean;
  tagNames: readonly string[];
}

/** What usage is grouped by; other groupings are none of this file's. */
interface Grouped {
  by: string;
  /** Its name, if it is by tag. */
  tag: string | undefined;
}

export async function readLabelChoices(database: Reader, accountId: string): Promise<LabelChoices> {
  const { hasSome } = await readAccountLabels(database, accountId);
  return { hasSome, tagNames: hasSome ? await listTagNames(database, accountId) : [] };
}

/** Labels are added up by day: an hour's are not known. */
export function chartStep({ by }: Grouped, range: DayRange): Step {
  const step = stepOf(range);
  return step === "hour" && (by === "tag" || by === "user") ? "day" : step;
}

/** Usage by the values of a tag, or by end user. */
export interface LabelUsage extends LabelUsagePage {
  dimension: string;
  /** Of the requests that have any value of it. */
  labelled: UsageSums;
}

const SHOWN_VALUES = 50;

/** @returns undefined if usage is grouped by something else. */
export async function readLabelUsage(
  database: Reader,
  { accountId, range: { fromDay, toDay }, choice: { by, tag } }: { accountId: string; range: DayRange; choice: Grouped },
): Promise<LabelUsage | undefined> {
  if (by !== "user" && (by !== "tag" || tag === undefined)) return undefined;
  const dimension = by === "user" || tag === undefined ? END_USER : tagDimension(tag);
  const [page, labelled = NO_USAGE_SUMS] = await Promise.all([
    usageByLabel(database, { accountId, fromDay, toDay, dimension, limit: SHOWN_VALUES }),
    usageWithLabel(database, { accountId, fromDay, toDay, dimension }),
  ]);
  return { ...page, dimension, labelled };
}

/** By bucket and value, of as many as have a colour; the rest together, with the requests that have none. */
export async function readLabelBars(
  database: Reader,
  {
    accountId,
    range,
    step,
    byLabel: { dimension, values },
    bars,
  }: { accountId: string; range: DayRange; step: Step; byLabel: LabelUsage; bars: readonly Bar[] },
): Promise<Bar[]> {
  const shown = values.slice(0, MAX_SERIES - 1).map(({ value }) => value);
  const { fromDay, toDay } = range;
  const rows = await labelDays(database, { accountId, fromDay, toDay, dimension, shown });
  const drawn = rows.map(({ value, day, ...usage }) => ({ ...usage, group: shownValue(value), bucket: bucketOf(day, step) }));
  const rest = restOf(bars, drawn, values.length > shown.length ? "All others" : nameOfNone(dimension));
  return rest.some(({ requests }) => requests > 0) ? [...drawn, ...rest] : drawn;
}

/** Values beyond the bound of a day are one group. */
export function shownValue(value: string): string {
  return value === "" ? "Other" : value;
}

/** How the requests without a value are called. */
export function nameOfNone(dimension: string): string {
  return dimension === END_USER ? "No end user" : "No such tag";
}
