import { isCount } from "../../protocol/json/count.ts";
import type { JsonObject } from "../../protocol/json/object.ts";

/** The number of an event, or of the first of those before it that its server left out, in the order in which the client gets them. */
export function createNumbering(): (json: JsonObject, missing: number) => number {
  let next = 0;
  let inserted = 0;
  return ({ sequence_number: given }, missing) => {
    const first = isCount(given) ? Math.max(given + inserted, next) : next;
    inserted += missing;
    next = first + missing + 1;
    return first;
  };
}
