import { textOf, type JsonObject } from "../../protocol/json/object.ts";

/** Longer names are not those of items. */
const MAX_LENGTH = 256;

/** What the events of an item may call it: the pieces of a call may name the call instead of its item. */
export function namesOf({ id, call_id: callId }: JsonObject): readonly string[] {
  return [id, callId].filter((name) => typeof name === "string").filter((name) => name !== "" && name.length <= MAX_LENGTH);
}

/** Kinds of items whose result names them by a `call_id`. */
const CALLS: ReadonlySet<unknown> = new Set([
  "function_call",
  "custom_tool_call",
  "shell_call",
  "local_shell_call",
  "apply_patch_call",
  "computer_call",
]);

/**
 * SDKs throw at a call without a `call_id`, and clients cannot answer it.
 * @param id of its item. @returns null for an item of another kind.
 */
export function callIdOf(item: JsonObject, id: string): string | null {
  return CALLS.has(item["type"]) ? textOf(item["call_id"]) || id : null;
}
