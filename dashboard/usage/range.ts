import * as z from "zod";
import { countDays, daysBefore, MAX_DAYS, type DaySpan } from "../../contract/days.ts";

export interface DayRange extends DaySpan {
  name: RangeName;
}

export const RANGES = { today: "Today", "7d": "7 days", "30d": "30 days", month: "This month" } as const;
type RangeName = keyof typeof RANGES | "custom";

/** A day that our calendar supports: others are invalid in Postgres, or have no next day. */
export const utcDay = (message?: string) => z.iso.date(message).regex(/^2/, message);

const querySchema = z.object({
  range: z.enum(["today", "7d", "30d", "month", "custom"]).catch("30d"),
  from: utcDay().optional().catch(undefined),
  to: utcDay().optional().catch(undefined),
});

/**
 * The range in a page's address; an invalid one counts as 30 days.
 * @param today UTC, `YYYY-MM-DD`.
 */
export function readRange(query: unknown, today: string): DayRange {
  const { range, from, to } = querySchema.parse(query ?? {});
  switch (range) {
    case "today":
      return { name: range, fromDay: today, toDay: today };
    case "7d":
      return { name: range, fromDay: daysBefore(today, 6), toDay: today };
    case "month":
      return { name: range, fromDay: `${today.slice(0, 7)}-01`, toDay: today };
    case "custom":
      if (from !== undefined && to !== undefined && from <= to && countDays({ fromDay: from, toDay: to }) <= MAX_DAYS)
        return { name: range, fromDay: from, toDay: to };
      break;
    case "30d":
      break;
  }
  return { name: "30d", fromDay: daysBefore(today, 29), toDay: today };
}

/** All days of a range, in order. */
export function daysOf(fromDay: string, toDay: string): string[] {
  return Array.from({ length: countDays({ fromDay, toDay }) }, (_, index) => daysBefore(fromDay, -index));
}
