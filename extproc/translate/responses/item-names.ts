import type { JsonObject } from "../../protocol/json/object.ts";

/** Longer names are not those of items. */
const MAX_LENGTH = 256;

/** What the events of an item may call it: the pieces of a call may name the call instead of its item. */
export function namesOf({ id, call_id: callId }: JsonObject): readonly string[] {
  return [id, callId].filter((name) => typeof name === "string").filter((name) => name !== "" && name.length <= MAX_LENGTH);
}
