import { EVENT_BOUNDS, ExcessiveStructure, parseWithin } from "./bounds.ts";

export type JsonObject = { readonly [name: string]: unknown };

/** Whether this JSON value is an object (not an array, not null). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object in a text; null for anything else. @throws ExcessiveStructure. */
export function parseObject(text: string): JsonObject | null {
  // Throwing and catching an error costs more than parsing most objects.
  if (!/^\s*\{/.test(text)) return null;
  try {
    const json = parseWithin(text, EVENT_BOUNDS);
    return isObject(json) ? json : null;
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw error;
    return null;
  }
}

/** A text; empty for anything else. `String` throws at an object with a `toString` of its own, and at lists deeper than the stack. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Many servers write null for a member that they leave out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
