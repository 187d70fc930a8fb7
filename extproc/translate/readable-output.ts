import { IMAGE_TOKENS } from "../meter/media-tokens.ts";
import type { Meter } from "../meter/meter.ts";
import { isObject, textOf, type JsonObject } from "../protocol/json/object.ts";
import type { ArgumentGrowth } from "./chat/argument-growth.ts";

/** What the client can read of an answer, or of a piece of one, for the meter. */
export interface Output {
  /** Written by the model: text, reasoning, tool arguments. */
  texts: string[];
  /**
   * Other content, as bytes of text: images by their tokens, quotations, results of the server's own tools, and strings in
   * members that the gateway does not know. It costs our own count of it, and disproves no report.
   */
  otherBytes: number;
}

/** Strings that identify, classify or sign something, and contain no text. */
const UNREAD: ReadonlySet<string> = new Set([
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "item_id",
  "type",
  "role",
  "name",
  "object",
  "model",
  "status",
  "format",
  "finish_reason",
  "native_finish_reason",
  "stop_reason",
  "stop_sequence",
  "matched_stop",
]);
/** Opaque to clients: it goes back to its server, or nowhere. */
export const OPAQUE = /signature|encrypted/;
/** Members that hold models' text. */
const SPOKEN: ReadonlySet<string> = new Set([
  "content",
  "text",
  "thinking",
  "reasoning",
  "reasoning_content",
  "summary",
  "refusal",
  "transcript",
  "arguments",
  "input",
  "partial_json",
]);
/** Members of a choice that are not part of its text. */
const BESIDE_CHOICE: ReadonlySet<string> = new Set([
  "delta",
  "message",
  "logprobs",
  "usage",
  "error",
  "content_filter_results",
  "content_filter_result",
  "prompt_logprobs",
]);
/** Servers that send several of these send the same text several times. */
const REASONING = ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];
const REPEATED: ReadonlySet<string> = new Set([...REASONING, "tool_calls", "function_call"]);
const NO_NAMES: ReadonlySet<string> = new Set();
/** Their content was written by others. */
const QUOTING: ReadonlySet<string> = new Set(["annotations", "citation", "citations"]);

const IMAGE_MEMBERS: ReadonlySet<string> = new Set(["url", "image_url", "b64_json"]);
/** Shorter strings of these letters may be words. */
const MIN_BASE64 = 64;
const IMAGE_BYTES = 4 * IMAGE_TOKENS;

/** @returns the bytes that were counted. */
export function countOutput(meter: Meter, { texts, otherBytes }: Output): number {
  for (const text of texts) meter.produced(text);
  if (otherBytes > 0) meter.producedBytes(otherBytes, 0);
  return bytesOf({ texts, otherBytes });
}

export function bytesOf({ texts, otherBytes }: Output): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), otherBytes);
}

/** The one text, if it contains nothing else; undefined if it contains more, or nothing. */
export function onlyText({ texts, otherBytes }: Output): string | undefined {
  return texts.length === 1 && otherBytes === 0 ? texts[0] : undefined;
}

/** @param growth for servers that repeat the arguments of a call from chunk to chunk. */
export function chatOutput(json: JsonObject, growth?: ArgumentGrowth): Output {
  const output: Output = { texts: [], otherBytes: 0 };
  const choices = objectsIn(json["choices"]);
  for (const choice of choices) readChoice(choice, output, growth);
  if (choices.length === 0) addTexts(output, textsOutsideChoices(json, growth));
  return output;
}

/**
 * Some servers' own formats have no choices. The other members of such an event may be anything, such as a position in a queue.
 */
function textsOutsideChoices(json: JsonObject, growth: ArgumentGrowth | undefined): string[] {
  const output: Output = { texts: [], otherBytes: 0 };
  readChoice(json, output, growth);
  return output.texts;
}

/** Text of a content block of a messages answer, or of a delta to one, or of an event of an unknown kind. */
export function messagesOutput(holder: unknown): Output {
  const output: Output = { texts: [], otherBytes: 0 };
  if (isObject(holder)) readMembers(holder, output, NO_NAMES);
  return output;
}

/** The objects of an array; none if it is not an array. */
export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function readChoice(choice: JsonObject, output: Output, growth: ArgumentGrowth | undefined): void {
  const before = sizeOf(output);
  if (isObject(choice["delta"])) readMessage(choice["delta"], output, growth);
  if (sizeOf(output) === before && isObject(choice["message"])) readMessage(choice["message"], output, growth);
  readMembers(choice, output, BESIDE_CHOICE);
  // Tokens with their probabilities repeat the text, unless there is nothing else.
  if (sizeOf(output) === before) addTexts(output, tokensIn(choice["logprobs"]));
}

function readMessage(message: JsonObject, output: Output, growth: ArgumentGrowth | undefined): void {
  readMembers(message, output, REPEATED);
  for (const name of REASONING) {
    if (message[name] === undefined) continue;
    const before = sizeOf(output);
    readMembers({ [name]: message[name] }, output, NO_NAMES);
    if (sizeOf(output) > before) break;
  }
  const calls = objectsIn(message["tool_calls"]);
  for (const [position, call] of calls.entries()) {
    const { index } = call;
    readCall(call, String(typeof index === "number" ? index : position), output, growth);
  }
  if (isObject(message["function_call"])) readCall({ function: message["function_call"] }, "", output, growth);
}

function readCall(call: JsonObject, key: string, output: Output, growth: ArgumentGrowth | undefined): void {
  const read: Output = { texts: [], otherBytes: 0 };
  readMembers(call, read, NO_NAMES);
  output.otherBytes += read.otherBytes;
  addTexts(output, growth === undefined ? read.texts : read.texts.map((text) => growth.grown(key, text)).filter(isText));
}

/** One by one: an answer may have more texts than a call can have arguments. */
function addTexts(output: Output, texts: readonly string[]): void {
  for (const text of texts) output.texts.push(text);
}

/** Uses an explicit work list: nesting may be deeper than the stack. */
function readMembers(holder: JsonObject, output: Output, except: ReadonlySet<string>): void {
  const waiting: Waiting[] = [];
  addMembers(holder, { waiting, except, isModels: isModels(holder) });
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, value, isModels: isOwn } = next;
    if (typeof value === "string") readText(name, value, isOwn, output);
    else if (Array.isArray(value)) for (const element of value) waiting.push({ name, value: element, isModels: isOwn });
    else if (isObject(value)) {
      if (name === "input" || name === "arguments") readText(name, inputText(value), isOwn, output);
      else addMembers(value, { waiting, except: NO_NAMES, isModels: isOwn && isModels(value) });
    }
  }
}

interface Waiting {
  name: string;
  value: unknown;
  isModels: boolean;
}

function addMembers(
  holder: JsonObject,
  { waiting, except, isModels: isOwn }: { waiting: Waiting[]; except: ReadonlySet<string>; isModels: boolean },
): void {
  for (const name in holder) {
    if (except.has(name) || UNREAD.has(name) || OPAQUE.test(name) || (name === "data" && isSealed(holder))) continue;
    waiting.push({ name, value: holder[name], isModels: isOwn && !QUOTING.has(name) });
  }
}

function isSealed(holder: JsonObject): boolean {
  return /redacted|encrypted/.test(textOf(holder["type"]));
}

/** Results of the server's own tools go to the model, and to the client as well. */
function isModels(holder: JsonObject): boolean {
  return !textOf(holder["type"]).endsWith("tool_result");
}

function readText(name: string, text: string, isOwn: boolean, output: Output): void {
  if (text === "") return;
  // A transcript repeats the content of its recording.
  if (name === "data" && isBase64(text)) return;
  if (isPicture(name, text)) output.otherBytes += IMAGE_BYTES;
  else if (isOwn && SPOKEN.has(name)) output.texts.push(text);
  else output.otherBytes += Buffer.byteLength(text);
}

/** A picture in base64, whose bytes do not determine its tokens. */
export function isPicture(name: string, text: string): boolean {
  if (name === "b64_json" && isBase64(text)) return true;
  return IMAGE_MEMBERS.has(name) && text.startsWith("data:") && isBase64(text.slice(text.indexOf(",") + 1));
}

export function isBase64(text: string): boolean {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return false;
  return text.length >= MIN_BASE64 || (text.length % 4 === 0 && text.endsWith("="));
}

function tokensIn(logprobs: unknown): string[] {
  if (!isObject(logprobs)) return [];
  const listed = [...objectsIn(logprobs["content"]), ...objectsIn(logprobs["refusal"])].map(({ token }) => token);
  return listed.filter(isText);
}

/** Only its length matters, so input too deep to be written counts as short, and that of a call without arguments as none. */
function inputText(input: JsonObject): string {
  try {
    const text = JSON.stringify(input);
    return text === "{}" ? "" : text;
  } catch {
    return "{}";
  }
}

function sizeOf({ texts, otherBytes }: Output): number {
  return texts.length + otherBytes;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
