import { isCount } from "./count.ts";

/** A position, which some servers write as a text; null for anything else: there the order of events tells it. */
export function positionIn(value: unknown): number | null {
  if (isCount(value)) return value;
  return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : null;
}
