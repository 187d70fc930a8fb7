import * as z from "zod";
import { dayOf, daysBefore, type DaySpan } from "../../contract/days.ts";

/** A UTC month, `YYYY-MM`. */
export const monthSchema = z.string().regex(/^2\d{3}-(0[1-9]|1[0-2])$/, "Must be a month such as 2026-11.");

export function monthOf(ms: number): string {
  return dayOf(ms).slice(0, 7);
}

export function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return monthOf(Date.UTC(year, number, 1));
}

export function monthBefore(month: string): string {
  return daysBefore(`${month}-01`, 1).slice(0, 7);
}

export function daysOfMonth(month: string): DaySpan {
  return { fromDay: `${month}-01`, toDay: daysBefore(`${monthAfter(month)}-01`, 1) };
}

/**
 * Months from one to another, both included, newest first.
 * @param limit the maximum number.
 */
export function monthsDown(newest: string, oldest: string, limit: number): string[] {
  const months: string[] = [];
  for (let month = newest; month >= oldest && months.length < limit; month = monthBefore(month)) months.push(month);
  return months;
}
