import * as z from "zod";

/** UTC days, both included. */
export interface DayRange {
  name: RangeName;
  fromDay: string;
  toDay: string;
}

export const RANGES = { today: "Today", "7d": "7 days", "30d": "30 days", month: "This month" } as const;
type RangeName = keyof typeof RANGES | "custom";

const DAY_MS = 86_400_000;
/** As far as usage by day goes on one page. */
const MOST_DAYS = 366;

/** A day that a calendar of ours can have: others are no dates for Postgres, or have no day after them. */
export const utcDay = (message?: string) => z.iso.date(message).regex(/^2/, message);

const querySchema = z.object({
  range: z.enum(["today", "7d", "30d", "month", "custom"]).catch("30d"),
  from: utcDay().optional().catch(undefined),
  to: utcDay().optional().catch(undefined),
});

/**
 * The days that a page's address asks for; what makes no sense in it counts as 30 days.
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
      if (from !== undefined && to !== undefined && from <= to && daysOf(from, to).length <= MOST_DAYS)
        return { name: range, fromDay: from, toDay: to };
      break;
    case "30d":
      break;
  }
  return { name: "30d", fromDay: daysBefore(today, 29), toDay: today };
}

/** From the first moment, included, to the last one, which is not. */
export function momentsOf({ fromDay, toDay }: DayRange): { from: Date; to: Date } {
  return { from: new Date(fromDay), to: new Date(Date.parse(toDay) + DAY_MS) };
}

/** Today's UTC day. */
export function utcToday(): string {
  return new Date().toISOString().slice(0, 10);
}

/** All days of a range, the first one first. */
export function daysOf(fromDay: string, toDay: string): string[] {
  const count = Math.round((Date.parse(toDay) - Date.parse(fromDay)) / DAY_MS) + 1;
  return Array.from({ length: count }, (_, index) => daysBefore(fromDay, -index));
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}
