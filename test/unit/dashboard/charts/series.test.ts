import { expect, test } from "vitest";
import { classSeries, groupSeries, restOf } from "../../../../dashboard/charts/series.ts";
import { NO_USAGE_SUMS } from "../../../../ledger/usage/sums.ts";

const BUCKETS = ["2026-11-01", "2026-11-02"];
const row = (bucket: string, group: string, dollars: number) => ({
  ...NO_USAGE_SUMS,
  bucket,
  group,
  requests: 1,
  inputTokens: 10 * dollars,
  cachedInputTokens: 1,
  outputTokens: 5,
  reasoningTokens: 5,
  chargeNanoUsd: BigInt(dollars) * 1_000_000_000n,
});

test("each group has a value for each bucket, zero where it was not used, and rows of one bucket are added up", () => {
  const rows = [row("2026-11-01", "pro", 2), row("2026-11-01", "pro", 1), row("2026-11-02", "flash", 1)];
  expect(groupSeries(rows, { buckets: BUCKETS, metric: "money" })).toEqual([
    { name: "pro", values: [3, 0] },
    { name: "flash", values: [0, 1] },
  ]);
  expect(groupSeries(rows, { buckets: BUCKETS, metric: "requests" })).toEqual([
    { name: "pro", values: [2, 0] },
    { name: "flash", values: [0, 1] },
  ]);
});

test("tokens are those of every charged class, and reasoning is not counted twice", () => {
  const rows = [row("2026-11-01", "pro", 2)];
  expect(groupSeries(rows, { buckets: BUCKETS, metric: "tokens" })).toEqual([{ name: "pro", values: [26, 0] }]);
});

test("tokens by class add up over all groups", () => {
  const rows = [row("2026-11-01", "pro", 2), row("2026-11-01", "flash", 1), row("2026-11-02", "pro", 1)];
  expect(classSeries(rows, BUCKETS)).toEqual([
    { name: "Input", values: [30, 10] },
    { name: "Cached input", values: [2, 1] },
    { name: "Cache write", values: [0, 0] },
    { name: "Output", values: [10, 5] },
  ]);
});

test("of many groups the smallest are combined, and the total stays the same", () => {
  const groups = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const rows = groups.map((group, index) => row("2026-11-02", group, groups.length - index)).toReversed();
  const series = groupSeries(rows, { buckets: BUCKETS, metric: "money" });
  expect(series.map(({ name }) => name)).toEqual(["a", "b", "c", "d", "e", "3 others"]);
  expect(series.at(-1)?.values).toEqual([0, 6]);
  expect(series.reduce((sum, { values }) => sum + (values[1] ?? 0), 0)).toBe(36);
});

test("groups are ordered by the metric that is drawn, and those without any are left out", () => {
  const image = { ...row("2026-11-01", "image", 1), images: 3 };
  const rows = [row("2026-11-01", "flash", 2), image, row("2026-11-02", "free", 0), row("2026-11-02", "pro", 5)];
  const namesBy = (metric: "money" | "images") => groupSeries(rows, { buckets: BUCKETS, metric }).map(({ name }) => name);
  expect(namesBy("money")).toEqual(["pro", "flash", "image"]);
  expect(namesBy("images")).toEqual(["image"]);
  expect(groupSeries([row("2026-11-02", "free", 0)], { buckets: BUCKETS, metric: "money" })).toEqual([
    { name: "free", values: [0, 0] },
  ]);
});

test("the remaining usage is the part of no group", () => {
  const all = [row("2026-11-01", "pro", 5), row("2026-11-02", "pro", 1)];
  const [first, second] = restOf(all, [row("2026-11-01", "laptop", 2)], "Other keys");
  expect(first).toMatchObject({ group: "Other keys", bucket: "2026-11-01", requests: 0, chargeNanoUsd: 3_000_000_000n });
  expect(second).toMatchObject({ requests: 1, chargeNanoUsd: 1_000_000_000n });
});
