import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { partType } from "./item-form.ts";

/** What an event says about its item. */
export interface Piece {
  kind: string | null;
  /** The list of parts that it belongs to, and a part that is empty. */
  list: "content" | "summary" | null;
  part: JsonObject;
}

const NO_PART: JsonObject = {};
const TEXT: Piece = { kind: "message", list: "content", part: { type: "output_text", text: "", annotations: [], logprobs: [] } };
const SUMMARY: Piece = { kind: "reasoning", list: "summary", part: { type: "summary_text", text: "" } };
const REASONING: Piece = { kind: "reasoning", list: "content", part: { type: "reasoning_text", text: "" } };

const PIECES: ReadonlyMap<string, Piece> = new Map<string, Piece>([
  ["output_text", TEXT],
  ["refusal", { kind: "message", list: "content", part: { type: "refusal", refusal: "" } }],
  ["reasoning_text", REASONING],
  ["reasoning_part", REASONING],
  ["reasoning_summary_text", SUMMARY],
  ["reasoning_summary_part", SUMMARY],
  ["function_call_arguments", { kind: "function_call", list: null, part: NO_PART }],
  ["custom_tool_call_input", { kind: "custom_tool_call", list: null, part: NO_PART }],
]);
const UNKNOWN: Piece = { kind: null, list: null, part: NO_PART };

export const CALLS: ReadonlySet<string | null> = new Set(["function_call", "custom_tool_call"]);

/** Items that begin with nothing but their name. */
export const EMPTY_ITEMS: ReadonlyMap<string | null, JsonObject> = new Map([
  ["message", { type: "message", role: "assistant", status: "in_progress", content: [] }],
  ["reasoning", { type: "reasoning", summary: [], content: [] }],
]);

/** By what an event is about: the text that its end repeats. */
export const TEXT_MEMBERS: ReadonlyMap<string, string> = new Map([
  ["output_text", "text"],
  ["reasoning_text", "text"],
  ["reasoning_summary_text", "text"],
  ["refusal", "refusal"],
  ["function_call_arguments", "arguments"],
  ["custom_tool_call_input", "input"],
]);

export function pieceOf(name: string, { part }: JsonObject): Piece {
  const described = name === "content_part" && isObject(part) ? partType(part) : name;
  return (typeof described === "string" ? PIECES.get(described) : undefined) ?? UNKNOWN;
}
