import { countDays, daysBefore, type DaySpan } from "../../contract/days.ts";
import { daysOf } from "../usage/range.ts";

export type Step = "hour" | "day" | "week" | "month";

/** A bar of a chart. Its id is the UTC day on which it starts, or the day and the hour. */
export interface Bucket {
  id: string;
  /** Shown under the bar. */
  label: string;
  /** Shown in its tooltip and its table. */
  name: string;
}

/** Up to this many days are drawn by hour, day or week: about as many bars as a chart has room for. */
const MAX_HOUR_DAYS = 2;
const MAX_DAY_DAYS = 62;
const MAX_WEEK_DAYS = 186;

export function stepOf(range: DaySpan): Step {
  const days = countDays(range);
  if (days <= MAX_HOUR_DAYS) return "hour";
  if (days <= MAX_DAY_DAYS) return "day";
  return days <= MAX_WEEK_DAYS ? "week" : "month";
}

/** All buckets of a range, in order. */
export function bucketsOf({ fromDay, toDay }: DaySpan, step: Step): Bucket[] {
  const days = daysOf(fromDay, toDay);
  if (step === "hour") return days.flatMap((day) => HOURS.map((hour) => hourBucket(day, hour, days.length > 1)));
  return [...new Set(days.map((day) => bucketOf(day, step)))].map((id) => dayBucket(id, step));
}

/** Id of the bucket that a UTC day, or a start of an hour, belongs to. */
export function bucketOf(start: string, step: Step): string {
  switch (step) {
    case "hour":
      return start.slice(0, 13);
    case "day":
      return start.slice(0, 10);
    case "week":
      // Weeks start on Monday.
      return daysBefore(start.slice(0, 10), (new Date(start).getUTCDay() + 6) % 7);
    case "month":
      return `${start.slice(0, 7)}-01`;
  }
}

const HOURS = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, "0"));

function hourBucket(day: string, hour: string, hasDay: boolean): Bucket {
  const time = `${hour}:00`;
  return {
    id: `${day}T${hour}`,
    label: hasDay && hour === "00" ? show(day, SHORT) : time,
    name: `${show(day, SHORT)}, ${time} UTC`,
  };
}

function dayBucket(id: string, step: Exclude<Step, "hour">): Bucket {
  if (step === "month") return { id, label: show(id, { month: "short" }), name: show(id, { month: "long", year: "numeric" }) };
  const name = show(id, { ...SHORT, year: "numeric" });
  return { id, label: show(id, SHORT), name: step === "week" ? `Week of ${name}` : name };
}

const SHORT = { month: "short", day: "numeric" } as const;

function show(day: string, options: Intl.DateTimeFormatOptions): string {
  return new Date(day).toLocaleDateString("en-US", { ...options, timeZone: "UTC" });
}
