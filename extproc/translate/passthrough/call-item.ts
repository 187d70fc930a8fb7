import { isGiven, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, write, type MemberEdits } from "../../protocol/json/splice.ts";
import type { ItemNames } from "../responses/response-items.ts";
import { textArguments } from "./call-form.ts";

/** The calls among the items of a response, in the form that clients require. */

/** Of a call that begins: clients add its pieces to what it has. */
export function completeCallStart(item: JsonObject): MemberEdits | null {
  const name = TEXTS.get(item["type"]);
  if (name === undefined || isGiven(item[name])) return textArguments(item);
  return { [name]: write("") };
}

/** Of a call that has ended, whose arguments clients parse. @param written what its pieces had; asked for where the call has none. */
export function completeCallEnd(item: JsonObject, written: () => JsonObject | undefined): MemberEdits | null {
  const name = TEXTS.get(item["type"]);
  const isEmpty = name !== undefined && (item[name] ?? "") === "";
  // One that was cut off has only what it has.
  if (!isEmpty || item["status"] === "incomplete") return textArguments(item);
  const text = textOf(written()?.[name]) || (name === "arguments" ? NO_ARGUMENTS : "");
  return text === item[name] ? null : { [name]: write(text) };
}

/** The only text of no arguments that is JSON. */
export const NO_ARGUMENTS = "{}";

const TEXTS: ReadonlyMap<unknown, string> = new Map([
  ["function_call", "arguments"],
  ["custom_tool_call", "input"],
]);

/** Clients know an item by the names with which it began. */
export function renamed(item: JsonObject, { id, callId }: ItemNames): MemberEdits | null {
  return mergeEdits(
    item["id"] === id ? null : { id: write(id) },
    callId === null || item["call_id"] === callId ? null : { call_id: write(callId) },
  );
}
