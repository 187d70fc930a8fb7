import type { JsonObject } from "../../translate/translation.ts";

/** Is this JSON value an object (no array, no null)? */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
