import { html } from "ghtml";
import { DAY_MS, dayOf, HOUR_MS } from "../../contract/days.ts";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", 60_000],
];
/** For older times, a date is shown. */
const RELATIVE_FOR_MS = 30 * DAY_MS;
const LOG_TIME = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
  timeZone: "UTC",
});
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** Relative time, past or future; the exact moment is in its title. */
export function moment(at: Date): string {
  return timeElement(at, ago(at.getTime() - Date.now()) ?? dayOf(at.getTime()));
}

/** The same of something that is to be done: "now" once it is due, however long ago that was. */
export function dueMoment(at: Date): string {
  const ms = at.getTime() - Date.now();
  return timeElement(at, ms <= 0 ? "now" : (ago(ms) ?? dayOf(at.getTime())));
}

function timeElement(at: Date, words: string): string {
  return html`<time class="nowrap" datetime="${at.toISOString()}" title="${exact(at)}">${words}</time>`;
}

/** To the second, in UTC with the label: for receipts and single records. */
export function exactMoment(at: Date): string {
  return html`<time class="nowrap" datetime="${at.toISOString()}">${exact(at)}</time>`;
}

/** The same under a head that names UTC, which leaves room for the other columns. */
export function recordedMoment(at: Date): string {
  return timeElement(at, exact(at).replace(" UTC", ""));
}

/** The UTC day of a payment or an entry; the exact moment is in its title. */
export function bookedDay(at: Date): string {
  return timeElement(at, dayOf(at.getTime()));
}

/** "Nov 27, 22:46:19" in UTC, for logs; the year is in its title. */
export function logMoment(at: Date): string {
  return timeElement(at, LOG_TIME.format(at));
}

/** A UTC day. */
export function day(at: Date): string {
  const written = dayOf(at.getTime());
  return html`<time class="nowrap" datetime="${written}" title="${written}, UTC">${written}</time>`;
}

/** @param ms from now. @returns undefined if it is too far away. */
function ago(ms: number): string | undefined {
  if (Math.abs(ms) > RELATIVE_FOR_MS) return undefined;
  const [unit, unitMs] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? [];
  if (unit !== undefined && unitMs !== undefined) return relative.format(Math.trunc(ms / unitMs), unit);
  return ms > 0 ? "in a moment" : "just now";
}

function exact(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
