import { GatewayError } from "../../contract/errors.ts";
import { ANSWER_BOUNDS, ExcessiveStructure, parseWithin } from "../protocol/json/bounds.ts";
import { isObject, textOf, type JsonObject } from "../protocol/json/object.ts";
import { isBase64, isPicture, OPAQUE } from "../translate/readable-output.ts";
import { unpacked } from "./media.ts";

/** Text in an answer, or in an event of one, that its client can read. */
export interface Piece {
  /** Where it is: pieces of one location follow each other. */
  location: string;
  text: string;
}

/**
 * Members whose strings identify or classify something. All others are text, those that the gateway does not know among them.
 * Log probabilities repeat the text token by token.
 */
const NOT_TEXT: ReadonlySet<string> = new Set(
  `call_id created finish_reason format id item_id logprobs matched_stop model native_finish_reason obfuscation object phase
previous_response_id prompt_logprobs role service_tier status stop_reason stop_sequence system_fingerprint tool_call_id tool_use_id
type`.split(/\s+/),
);

/** Members of the request that a response repeats: the client's own words. */
const ECHOED: ReadonlySet<string> = new Set(
  `conversation include input instructions metadata prompt prompt_cache_key reasoning safety_identifier text tool_choice tools
truncation user`.split(/\s+/),
);

/** Sound and pictures in base64. */
const MEDIA: ReadonlySet<string> = new Set(["data", "b64_json", "partial_image_b64", "result"]);
const INDICES = ["output_index", "content_index", "summary_index", "index"] as const;

interface Waiting {
  name: string;
  value: unknown;
  at: string;
  /** Of the object or the list that has it. */
  isSealed: boolean;
}

/**
 * An answer, or an event of one, for `piecesOf`; null for the end of a stream. What is no object is text as a whole.
 * @throws GatewayError `upstream_error` for more structure than is read.
 */
export function readChecked(written: string): JsonObject | null {
  if (written.trim() === "[DONE]") return null;
  try {
    const json = parseWithin(written, ANSWER_BOUNDS);
    if (isObject(json)) return json;
  } catch (cause) {
    if (cause instanceof ExcessiveStructure)
      throw new GatewayError("upstream_error", "The model server's answer has more JSON values than can be checked.", { cause });
    if (!(cause instanceof SyntaxError)) throw cause;
  }
  return { text: written };
}

/** All text of it, in order. @param json an answer or an event, in any client's protocol. */
export function piecesOf(json: JsonObject): Piece[] {
  const pieces: Piece[] = [];
  // Nesting may be deeper than the stack.
  const waiting: Waiting[] = [{ name: "", value: json, at: "", isSealed: false }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, value, at, isSealed } = next;
    if (typeof value === "string") addText(pieces, { name, value, at, isSealed }, json);
    else if (Array.isArray(value)) pushAll(waiting, elementsOf(value, next));
    else if (isObject(value)) {
      const call = name === "input" || name === "arguments" ? written(value) : null;
      if (call === null) pushAll(waiting, membersOf(value, at));
      else if (call !== "{}") pieces.push({ location: `${at}/${name}`, text: call });
    }
  }
  return pieces;
}

/** The last one is taken first. One by one: there may be more than a call can have arguments. */
function pushAll(waiting: Waiting[], found: readonly Waiting[]): void {
  for (let at = found.length - 1; at >= 0; at--) {
    const each = found[at];
    if (each !== undefined) waiting.push(each);
  }
}

function elementsOf(list: readonly unknown[], { name, at, isSealed }: Waiting): Waiting[] {
  return list.map((value, position) => ({
    name,
    value,
    at: isObject(value) && isIndexed(value) ? at : `${at}/${position}`,
    isSealed,
  }));
}

function membersOf(holder: JsonObject, outer: string): Waiting[] {
  const at = INDICES.reduce((location, name) => (isIndex(holder[name]) ? `${location}/${holder[name]}` : location), outer);
  const isSealed = /redacted|encrypted/.test(textOf(holder["type"]));
  const isResponse = holder["object"] === "response";
  return Object.entries(holder)
    .filter(([name]) => !NOT_TEXT.has(name) && !(isResponse && ECHOED.has(name)))
    .map(([name, value]) => ({ name, value, at, isSealed }));
}

function addText(pieces: Piece[], { name, value, at, isSealed }: Waiting & { value: string }, { type }: JsonObject): void {
  if (value === "" || isMedia(name, value)) return;
  if (OPAQUE.test(name) || (isSealed && name === "data")) {
    // Reasoning that the gateway itself has packed is text.
    const packed = unpacked(value);
    if (packed !== null && packed !== "") pieces.push({ location: `${at}/${name}`, text: packed });
    return;
  }
  const kind = name === "delta" ? textOf(type) : name;
  pieces.push({ location: `${at}/${kind}`, text: value });
}

function isMedia(name: string, text: string): boolean {
  return isPicture(name, text) || (MEDIA.has(name) && isBase64(text));
}

function isIndexed(value: JsonObject): boolean {
  return INDICES.some((name) => isIndex(value[name]));
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** The arguments of a call, with their names; null if they are too deep to be written. */
function written(value: JsonObject): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
