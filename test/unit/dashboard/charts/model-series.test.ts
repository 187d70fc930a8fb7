import { expect, test } from "vitest";
import { modelSeries } from "../../../../dashboard/charts/model-series.ts";
import { NO_USAGE_SUMS } from "../../../../ledger/usage/sums.ts";

const COLUMNS = ["2026-11-01", "2026-11-02"];
const row = (column: string, model: string, dollars: number) => ({
  ...NO_USAGE_SUMS,
  column,
  model,
  inputTokens: 10 * dollars,
  cachedInputTokens: 1,
  outputTokens: 5,
  reasoningTokens: 5,
  chargeNanoUsd: BigInt(dollars) * 1_000_000_000n,
});

test("each model has a value for each day, nothing where it was not used", () => {
  const rows = [row("2026-11-01", "pro", 2), row("2026-11-02", "flash", 1)];
  expect(modelSeries(rows, { columns: COLUMNS, models: ["pro", "flash"], unit: "money" })).toEqual([
    { name: "pro", values: [2, 0] },
    { name: "flash", values: [0, 1] },
  ]);
});

test("tokens are those of every class that is charged, and reasoning is not counted twice", () => {
  const rows = [row("2026-11-01", "pro", 2)];
  expect(modelSeries(rows, { columns: COLUMNS, models: ["pro"], unit: "tokens" })).toEqual([{ name: "pro", values: [26, 0] }]);
});

test("of many models the smallest are put together, and the whole stays the same", () => {
  const models = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const rows = models.map((model, index) => row("2026-11-02", model, models.length - index));
  const series = modelSeries(rows, { columns: COLUMNS, models, unit: "money" });
  expect(series.map(({ name }) => name)).toEqual(["a", "b", "c", "d", "e", "3 other models"]);
  expect(series.at(-1)?.values).toEqual([0, 6]);
  expect(series.reduce((sum, { values }) => sum + (values[1] ?? 0), 0)).toBe(36);
});
