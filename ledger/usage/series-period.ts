import { momentsOf, type DaySpan } from "../../contract/days.ts";

/** The rollups of a series, and the start of each row's period, as SQL. */
const PERIODS = {
  hour: { table: "usage_by_hour", column: "hour", start: `to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI')` },
  day: { table: "usage_by_day", column: "day", start: "day::text" },
  range: { table: "usage_by_day", column: "day", start: "''" },
} as const;

export type SeriesStep = keyof typeof PERIODS;

/** From which rollup a series over a range is read. @returns values of `column`: from `first` to before `end`. */
export function periodOf(step: SeriesStep, range: DaySpan) {
  const { from, to } = momentsOf(range);
  const [first, end] = step === "hour" ? [from, to] : [from.toISOString().slice(0, 10), to.toISOString().slice(0, 10)];
  return { ...PERIODS[step], first, end };
}
