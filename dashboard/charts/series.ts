import { addUsage, NO_USAGE_SUMS, subtractUsage, type UsageSums } from "../../ledger/usage/sums.ts";
import { minutesOf } from "../minutes.ts";
import { totalTokensOf } from "../../contract/usage.ts";

export const METRICS = {
  money: "Spend",
  requests: "Requests",
  tokens: "Tokens",
  searches: "Searches",
  images: "Images",
  characters: "Characters",
  minutes: "Minutes of audio",
} as const;
export type Metric = keyof typeof METRICS;

/** Usage of one group, a model or a key, in one bucket. */
export interface Bar extends UsageSums {
  /** The group. */
  group: string;
  /** Id of the bucket. */
  bucket: string;
}

export interface Series {
  name: string;
  /** One for each bucket: for a chart's geometry. */
  values: number[];
}

/** More colours than this cannot be distinguished. */
export const MAX_SERIES = 6;
const NANO = 1e9;

/**
 * Usage as the series of a chart, the largest in this metric first. Groups without any are left out, and the smallest of
 * many are combined.
 */
export function groupSeries(rows: readonly Bar[], { buckets, metric }: { buckets: readonly string[]; metric: Metric }): Series[] {
  const amounts = new Map<string, number>();
  const totals = new Map<string, number>();
  for (const row of rows) {
    const cell = `${row.bucket} ${row.group}`;
    const amount = amountOf(row, metric);
    amounts.set(cell, (amounts.get(cell) ?? 0) + amount);
    totals.set(row.group, (totals.get(row.group) ?? 0) + amount);
  }
  const used = [...totals].filter(([, total]) => total > 0).sort(([, one], [, other]) => other - one);
  const all = (used.length > 0 ? used : [...totals]).map(([name]) => ({
    name,
    values: buckets.map((bucket) => amounts.get(`${bucket} ${name}`) ?? 0),
  }));
  if (all.length <= MAX_SERIES) return all;
  const small = all.slice(MAX_SERIES - 1);
  const together = buckets.map((_, index) => small.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  return [...all.slice(0, MAX_SERIES - 1), { name: `${small.length} others`, values: together }];
}

const CLASSES = [
  ["Input", ({ inputTokens }: UsageSums) => inputTokens],
  ["Cached input", ({ cachedInputTokens }: UsageSums) => cachedInputTokens],
  ["Cache write", ({ cacheWriteTokens }: UsageSums) => cacheWriteTokens],
  ["Output", ({ outputTokens }: UsageSums) => outputTokens],
] as const;

/** Tokens by price class. */
export function classSeries(rows: readonly Bar[], buckets: readonly string[]): Series[] {
  return CLASSES.map(([name, read]) => {
    const amounts = new Map<string, number>();
    for (const row of rows) amounts.set(row.bucket, (amounts.get(row.bucket) ?? 0) + read(row));
    return { name, values: buckets.map((bucket) => amounts.get(bucket) ?? 0) };
  });
}

/** Usage that belongs to none of the parts, as one group. */
export function restOf(all: readonly Bar[], parts: readonly Bar[], group: string): Bar[] {
  const buckets = [...new Set(all.map(({ bucket }) => bucket))];
  const sumIn = (bars: readonly Bar[], id: string) =>
    bars.filter(({ bucket }) => bucket === id).reduce<UsageSums>(addUsage, NO_USAGE_SUMS);
  return buckets.map((bucket) => ({ ...subtractUsage(sumIn(all, bucket), sumIn(parts, bucket)), group, bucket }));
}

function amountOf(usage: UsageSums, metric: Metric): number {
  switch (metric) {
    case "money":
      return Number(usage.chargeNanoUsd) / NANO;
    case "requests":
      return usage.requests;
    case "tokens":
      return totalTokensOf(usage);
    case "searches":
      return usage.searches;
    case "images":
      return usage.images;
    case "characters":
      return usage.characters;
    case "minutes":
      return minutesOf(usage);
  }
}
