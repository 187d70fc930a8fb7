import { html } from "ghtml";

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
/** Older than this, a date says more. */
const RELATIVE_FOR_MS = 30 * 86_400_000;
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago, or how soon; the exact moment is in its title. */
export function moment(at: Date): string {
  return html`<time class="nowrap" datetime="${at.toISOString()}" title="${exact(at)}"
    >${ago(at.getTime() - Date.now()) ?? dayOf(at)}</time
  >`;
}

/** To the second, in UTC, said so: for receipts and single records. */
export function exactMoment(at: Date): string {
  return html`<time class="nowrap" datetime="${at.toISOString()}">${exact(at)}</time>`;
}

/** A UTC day. */
export function day(at: Date): string {
  return html`<time class="nowrap" datetime="${dayOf(at)}" title="${dayOf(at)}, UTC">${dayOf(at)}</time>`;
}

/** @param ms from now. @returns undefined for what is too far away. */
function ago(ms: number): string | undefined {
  if (Math.abs(ms) > RELATIVE_FOR_MS) return undefined;
  const [unit, unitMs] = UNITS.find(([, length]) => Math.abs(ms) >= length) ?? [];
  return unit === undefined || unitMs === undefined ? "just now" : relative.format(Math.trunc(ms / unitMs), unit);
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

function exact(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
