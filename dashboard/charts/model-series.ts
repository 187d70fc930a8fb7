import type { UsageSums } from "../../ledger/usage/sums.ts";

export type Unit = "money" | "tokens";

/** What a model used on a day, or in an hour. */
export interface Bar extends UsageSums {
  model: string;
  /** Where it stands. */
  column: string;
}

interface ModelSeries {
  name: string;
  /** USD or tokens, one for each column: for a chart's geometry. */
  values: number[];
}

/** More colours than this are not told apart. */
const MAX_SERIES = 6;
const NANO = 1e9;

/**
 * Usage as the series of a chart; the smallest of many models are put together.
 * @param models all that are in `rows`, the largest first.
 */
export function modelSeries(
  rows: readonly Bar[],
  { columns, models, unit }: { columns: readonly string[]; models: readonly string[]; unit: Unit },
): ModelSeries[] {
  const amounts = new Map(rows.map((row) => [`${row.column} ${row.model}`, amountOf(row, unit)]));
  const all = models.map((name) => ({ name, values: columns.map((column) => amounts.get(`${column} ${name}`) ?? 0) }));
  if (all.length <= MAX_SERIES) return all;
  const small = all.slice(MAX_SERIES - 1);
  const together = columns.map((_, index) => small.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  return [...all.slice(0, MAX_SERIES - 1), { name: `${small.length} other models`, values: together }];
}

/** All that are charged; reasoning is a part of the output. */
export function tokensOf({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }: UsageSums): number {
  return inputTokens + cachedInputTokens + cacheWriteTokens + outputTokens;
}

function amountOf(usage: UsageSums, unit: Unit): number {
  return unit === "money" ? Number(usage.chargeNanoUsd) / NANO : tokensOf(usage);
}
