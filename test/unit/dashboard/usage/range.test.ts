import { expect, test } from "vitest";
import { daysOf, readRange } from "../../../../dashboard/usage/range.ts";

const TODAY = "2026-03-02";

test.for([
  [{}, "2026-02-01"],
  [{ range: "30d" }, "2026-02-01"],
  [{ range: "today" }, "2026-03-02"],
  [{ range: "7d" }, "2026-02-24"],
  [{ range: "month" }, "2026-03-01"],
] as const)("%j ends today", ([query, fromDay]) => {
  expect(readRange(query, TODAY)).toMatchObject({ fromDay, toDay: TODAY });
});

test("custom days are used as they are", () => {
  const range = { range: "custom", from: "2025-12-30", to: "2026-01-02" };
  expect(readRange(range, TODAY)).toEqual({ name: "custom", fromDay: "2025-12-30", toDay: "2026-01-02" });
  expect(daysOf("2025-12-30", "2026-01-02")).toEqual(["2025-12-30", "2025-12-31", "2026-01-01", "2026-01-02"]);
});

test.for([
  { range: "custom" },
  { range: "custom", from: "2026-01-02", to: "2026-01-01" },
  { range: "custom", from: "2020-01-01", to: "2026-01-01" },
  { range: "custom", from: "yesterday", to: "2026-01-01" },
  { range: ["7d", "30d"] },
])("an invalid range is 30 days: %j", (query) => {
  expect(readRange(query, TODAY)).toEqual({ name: "30d", fromDay: "2026-02-01", toDay: TODAY });
});
