import { END_USER, tagDimension } from "../../contract/labels.ts";
import { readAccountLabels } from "../../ledger/labels/account-labels.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import {
  labelDays,
  labelHours,
  listTagNames,
  usageByLabel,
  usageWithLabel,
  type LabelUsagePage,
  type UsageOfLabel,
} from "../../ledger/usage/label-reports.ts";
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

/** A day of an account with a million requests a month: they are read in about as long as another report of the page. */
const MAX_HOURLY_REQUESTS = 30_000;

/** By bucket and value. */
export interface LabelBars {
  step: Step;
  bars: Bar[];
}

/**
 * Usage of as many values as have a colour. Labels are added up by day, so hours are read from the requests: where these are too
 * many, or deleted already, or values are not told apart, a day or two are drawn by day.
 */
export async function readLabelBars(
  database: Reader,
  { accountId, range, byLabel: { dimension, values } }: { accountId: string; range: DayRange; byLabel: LabelUsage },
): Promise<LabelBars> {
  const { fromDay, toDay } = range;
  const drawn = values.slice(0, MAX_SERIES - 1);
  const query = { accountId, fromDay, toDay, dimension, shown: drawn.map(({ value }) => value) };
  const step = stepOf(range);
  if (step === "hour") {
    const known = countRequests(drawn);
    const isReadable = known <= MAX_HOURLY_REQUESTS && drawn.every(({ value }) => value !== "");
    const hours = isReadable ? await labelHours(database, query) : [];
    if (isReadable && countRequests(hours) >= known)
      return { step, bars: hours.map(({ hour, ...used }) => barOf(used, bucketOf(hour, step))) };
  }
  const dayStep = step === "hour" ? "day" : step;
  const days = await labelDays(database, query);
  return { step: dayStep, bars: days.map(({ day, ...used }) => barOf(used, bucketOf(day, dayStep))) };
}

function barOf({ value, ...usage }: UsageOfLabel, bucket: string): Bar {
  return { ...usage, group: shownValue(value), bucket };
}

function countRequests(rows: readonly UsageSums[]): number {
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

/** These, and all other requests together: with further values, or with none. */
export function withRest(drawn: readonly Bar[], { dimension, values }: LabelUsage, all: readonly Bar[]): Bar[] {
  const rest = restOf(all, drawn, values.length > MAX_SERIES - 1 ? "All others" : nameOfNone(dimension));
  return rest.some(({ requests }) => requests > 0) ? [...drawn, ...rest] : [...drawn];
}

/** Values beyond the bound of a day are one group. */
export function shownValue(value: string): string {
  return value === "" ? "Other" : value;
}

/** How the requests without a value are called. */
export function nameOfNone(dimension: string): string {
  return dimension === END_USER ? "No end user" : "Without this tag";
}
