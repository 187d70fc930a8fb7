import { expect, test } from "vitest";
import { bucketOf, bucketsOf, stepOf } from "../../../../dashboard/charts/buckets.ts";

test.for([
  ["2026-11-22", "2026-11-22", "hour", 24],
  ["2026-11-21", "2026-11-22", "hour", 48],
  ["2026-10-24", "2026-11-22", "day", 30],
  ["2026-07-01", "2026-11-22", "week", 21],
  ["2025-11-22", "2026-11-22", "month", 13],
] as const)("from %s to %s is drawn by %s, in %i bars", ([fromDay, toDay, step, bars]) => {
  expect(stepOf({ fromDay, toDay })).toBe(step);
  expect(bucketsOf({ fromDay, toDay }, step)).toHaveLength(bars);
});

test("every day and hour of a range belongs to one of its buckets", () => {
  const range = { fromDay: "2026-02-25", toDay: "2026-03-03" };
  for (const step of ["hour", "day", "week", "month"] as const) {
    const ids = bucketsOf(range, step).map(({ id }) => id);
    for (const start of ["2026-02-25T00:00", "2026-02-28T23:00", "2026-03-01T05:00", "2026-03-03T23:00"])
      expect(ids).toContain(bucketOf(start, step));
  }
});

test("weeks start on Monday", () => {
  expect(bucketOf("2026-11-22", "week")).toBe("2026-11-16");
  expect(bucketOf("2026-11-23", "week")).toBe("2026-11-23");
});

test("buckets have names for an axis and for a tooltip", () => {
  const [day] = bucketsOf({ fromDay: "2026-11-01", toDay: "2026-11-03" }, "day");
  expect(day).toEqual({ id: "2026-11-01", label: "Nov 1", name: "Nov 1, 2026" });
  const hours = bucketsOf({ fromDay: "2026-11-01", toDay: "2026-11-02" }, "hour");
  expect(hours[5]).toEqual({ id: "2026-11-01T05", label: "05:00", name: "Nov 1, 05:00 UTC" });
  expect(hours[24]?.label).toBe("Nov 2");
});
