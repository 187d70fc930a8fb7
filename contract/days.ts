import { GatewayError } from "./errors.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** The longest range of a usage report (S29). */
export const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;

/** UTC days, `YYYY-MM-DD`, both included. */
export interface DaySpan {
  fromDay: string;
  toDay: string;
}

/** The UTC day of a moment in Unix milliseconds. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function daysBefore(day: string, days: number): string {
  return dayOf(Date.parse(day) - days * DAY_MS);
}

/** The first moment after the day. */
export function endOfDay(day: string): Date {
  return new Date(Date.parse(day) + DAY_MS);
}

export function countDays({ fromDay, toDay }: DaySpan): number {
  return Math.round((Date.parse(toDay) - Date.parse(fromDay)) / DAY_MS) + 1;
}

/** From the first moment, inclusive, to the last one, exclusive. */
export function momentsOf({ fromDay, toDay }: DaySpan): { from: Date; to: Date } {
  return { from: new Date(fromDay), to: endOfDay(toDay) };
}

/**
 * The days of a report (S29): the 30 days up to today unless the caller gives others.
 * @throws GatewayError `invalid_request` for a range that ends before it begins, or is too long.
 */
export function readDays({ from, to }: { from?: string | undefined; to?: string | undefined }, nowMs: number): DaySpan {
  const toDay = to ?? dayOf(nowMs);
  const fromDay = from ?? daysBefore(toDay, DEFAULT_DAYS - 1);
  const days = countDays({ fromDay, toDay });
  if (days < 1)
    throw new GatewayError("invalid_request", "`from` is after `to`. Send the earlier day as `from`.", { field: "from" });
  if (days > MAX_DAYS)
    throw new GatewayError("invalid_request", `The range has more than ${MAX_DAYS} days. Request a shorter one.`, {
      field: "from",
    });
  return { fromDay, toDay };
}
