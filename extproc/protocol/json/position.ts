import * as z from "zod";
import { isCount } from "./count.ts";

const WRITTEN = /^\d{1,9}$/;

/** A position, which some servers write as a text, or leave out: there the order of events tells it. */
export const positionSchema = z.union([z.int().nonnegative(), z.string().regex(WRITTEN)]).nullish();

/** Null for anything that is none. */
export function positionIn(value: unknown): number | null {
  if (isCount(value)) return value;
  return typeof value === "string" && WRITTEN.test(value) ? Number(value) : null;
}
