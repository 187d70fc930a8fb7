import { EVENT_BOUNDS, ExcessiveStructure, parseWithin } from "./bounds.ts";

export type JsonObject = { readonly [name: string]: unknown };

/** Is this JSON value an object (no array, no null)? */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that a text says; null where it says none. @throws ExcessiveStructure. */
export function parseObject(text: string): JsonObject | null {
  // An error that is thrown and caught costs more than most objects.
  if (!/^\s*\{/.test(text)) return null;
  try {
    const json = parseWithin(text, EVENT_BOUNDS);
    return isObject(json) ? json : null;
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw error;
    return null;
  }
}
