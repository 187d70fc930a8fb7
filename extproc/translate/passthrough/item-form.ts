import { isGiven, isObject, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, withinElements, write, type MemberEdits } from "../../protocol/json/splice.ts";
import type { ItemNames } from "../responses/response-items.ts";
import { textArguments } from "./call-form.ts";

/** The items of a response and their parts, in the form that clients require: SDKs throw at one without its list or its text. */

/** Of an item that begins: clients add its parts and pieces to what it has. */
export function completeItemStart(item: JsonObject): MemberEdits | null {
  const { list, text } = membersOf(item);
  return mergeEdits(
    list === undefined ? null : completeList(item, list, () => undefined),
    text === undefined || isGiven(item[text]) ? textArguments(item) : { [text]: write("") },
  );
}

interface EndedItem {
  /** What its pieces had; asked for where the item lacks it. */
  written(): JsonObject | undefined;
  /** It ended before the model had completed it. */
  isCut: boolean;
}

/** Of an item that has ended. */
export function completeItemEnd(item: JsonObject, { written, isCut }: EndedItem): MemberEdits | null {
  const { list } = membersOf(item);
  if (list !== undefined) return completeList(item, list, written);
  return completeCallEnd(item, { written, isCut: isCut || item["status"] === "incomplete" });
}

function completeList(item: JsonObject, name: ListName, written: () => JsonObject | undefined): MemberEdits | null {
  const list = item[name];
  if (!isGiven(list) || list === "") return { [name]: write(written()?.[name] ?? []) };
  if (typeof list === "string") return { [name]: write([partOf(list, name)]) };
  if (!Array.isArray(list)) return null;
  // A proper message has some; reasoning may have no summary.
  if (list.length === 0 && name === "content") return withWritten(name, written());
  const edits = list.map((part: unknown, at) =>
    isObject(part) ? completePartText(part, (member) => textAt(written()?.[name], at, member)) : null,
  );
  return edits.every((edit) => edit === null) ? null : { [name]: withinElements(edits) };
}

function withWritten(name: ListName, written: JsonObject | undefined): MemberEdits | null {
  const parts = written?.[name];
  return Array.isArray(parts) && parts.length > 0 ? { [name]: write(parts) } : null;
}

/** Some servers write a text where others have a list of parts, as chat does. */
function partOf(text: string, list: ListName): JsonObject {
  return list === "summary" ? { type: "summary_text", text } : { type: "output_text", text, annotations: [] };
}

function textAt(parts: unknown, position: number, member: string): string {
  const part: unknown = Array.isArray(parts) ? parts[position] : undefined;
  return isObject(part) ? textOf(part[member]) : "";
}

/** Clients parse the arguments of a call that has ended. */
function completeCallEnd(item: JsonObject, { written, isCut }: EndedItem): MemberEdits | null {
  const { text: member } = membersOf(item);
  if (member === undefined) return null;
  const name = isGiven(item["name"]) ? undefined : written()?.["name"];
  const edits = name === undefined ? null : { name: write(name) };
  if ((item[member] ?? "") !== "") return mergeEdits(edits, textArguments(item));
  // Of one that was cut off, nobody knows whether it has none.
  const text = textOf(written()?.[member]) || (member === "arguments" && !isCut ? NO_ARGUMENTS : "");
  return mergeEdits(edits, text === item[member] ? null : { [member]: write(text) });
}

/** Proxies that leave out empty members leave out the text of a part that begins. @param written what its pieces had. */
export function completePartText(part: JsonObject, written: (member: string) => string = () => ""): MemberEdits | null {
  const type = partType(part);
  const member = PART_TEXTS.get(type);
  const text = member === undefined ? null : missingText(part, member, written);
  if (type === part["type"]) return text;
  return { type: write(type), ...(!isGiven(part["annotations"]) && { annotations: write([]) }), ...text };
}

/** Some servers repeat a part without its text where its item or the response ends. */
function missingText(part: JsonObject, member: string, written: (member: string) => string): MemberEdits | null {
  if ((part[member] ?? "") !== "") return null;
  const text = written(member);
  return text === part[member] ? null : { [member]: write(text) };
}

export function lacksText(part: JsonObject): boolean {
  const member = PART_TEXTS.get(partType(part));
  return member !== undefined && !isGiven(part[member]);
}

/** Some servers give a part the type that chat has for it. */
export function partType({ type }: JsonObject): unknown {
  return type === "text" ? "output_text" : type;
}

const PART_TEXTS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  ["output_text", "text"],
  ["reasoning_text", "text"],
  ["summary_text", "text"],
  ["refusal", "refusal"],
]);

/** The only text of no arguments that is JSON. */
export const NO_ARGUMENTS = "{}";

type ListName = "content" | "summary";

interface ItemMembers {
  list?: ListName;
  text?: "arguments" | "input";
}

function membersOf({ type }: JsonObject): ItemMembers {
  return MEMBERS.get(type) ?? NO_MEMBERS;
}

const NO_MEMBERS: ItemMembers = {};
const MEMBERS: ReadonlyMap<unknown, ItemMembers> = new Map<unknown, ItemMembers>([
  ["message", { list: "content" }],
  ["reasoning", { list: "summary" }],
  ["function_call", { text: "arguments" }],
  ["custom_tool_call", { text: "input" }],
]);

/** Clients know an item by the names with which it began. */
export function renamed(item: JsonObject, { id, callId }: ItemNames): MemberEdits | null {
  return mergeEdits(
    item["id"] === id ? null : { id: write(id) },
    callId === null || item["call_id"] === callId ? null : { call_id: write(callId) },
  );
}
