import { IMAGE_TOKENS, PAGE_TOKENS } from "../../meter/media-tokens.ts";
import { estimateTokens } from "../../meter/meter.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";

/** How many base64 characters a page of PDF usually has. */
export const PAGE_CHARACTERS = 65_536;
/** Role and separators around each message. */
const MESSAGE_TOKENS = 4;
/** Quotes, colon and comma around a member of a schema or an input. */
const MEMBER_BYTES = 4;

/** How the members of a protocol's messages and tools are read. */
interface Reading {
  /** Members that a model never reads. */
  unread: ReadonlySet<string>;
  /** Members that structure a message: their content is read, their names are not. */
  structure: ReadonlySet<string>;
  /** Tokens of a part that is not text; null for any other object. */
  media: (part: JsonObject) => number | null;
}

const UNREAD = ["cache_control", "signature", "type", "media_type", "id", "tool_use_id"];
const STRUCTURE = ["role", "content", "text", "thinking", "input", "name", "description", "input_schema", "source", "data"];
const MESSAGES: Reading = { unread: new Set(UNREAD), structure: new Set(STRUCTURE), media: mediaTokens };
const RESPONSES: Reading = {
  unread: new Set([...UNREAD, "call_id", "status", "encrypted_content", "annotations", "logprobs", "filename"]),
  structure: new Set([...STRUCTURE, "output", "arguments", "parameters", "summary"]),
  media: partTokens,
};

/**
 * Estimate of a messages request's prompt in tokens, for `POST /v1/messages/count_tokens` if the upstream has no count of its own
 * (S16). Text and schemas count by their UTF-8 bytes, four to a token; images and PDF by size. Any part may be absent: agents
 * count tools alone, too.
 */
export function estimateInputTokens(request: JsonObject): number {
  const { system, messages, tools } = request;
  return tokensOfTurns(messages, [system, messages, tools], MESSAGES);
}

/** The same of a Responses request, for `POST /v1/responses/input_tokens`. */
export function estimateResponsesTokens(request: JsonObject): number {
  const { instructions, input, tools } = request;
  return tokensOfTurns(input, [instructions, input, tools], RESPONSES);
}

function tokensOfTurns(turns: unknown, parts: readonly unknown[], reading: Reading): number {
  const overhead = Array.isArray(turns) ? turns.length * MESSAGE_TOKENS : 0;
  return overhead + parts.reduce<number>((sum, part) => sum + tokensOf(part, reading), 0);
}

/** Uses an explicit work list: nesting may be deeper than the stack. */
function tokensOf(part: unknown, reading: Reading): number {
  const waiting: unknown[] = [part];
  let bytes = 0;
  let tokens = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") bytes += Buffer.byteLength(next);
    else if (typeof next === "number" || typeof next === "boolean") bytes += String(next).length;
    else if (Array.isArray(next)) for (const element of next) waiting.push(element);
    else if (isObject(next)) {
      const media = reading.media(next);
      tokens += media ?? 0;
      if (media === null) bytes += takeMembers(next, waiting, reading);
    }
  }
  return tokens + estimateTokens(bytes);
}

function takeMembers(holder: JsonObject, waiting: unknown[], { unread, structure }: Reading): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(holder)) {
    // A schema may describe a property of such a name; that is an object, and is read.
    if (name === "cache_control" || (unread.has(name) && !isObject(value))) continue;
    if (!structure.has(name)) bytes += Buffer.byteLength(name) + MEMBER_BYTES;
    waiting.push(value);
  }
  return bytes;
}

function mediaTokens(block: JsonObject): number | null {
  if (block["type"] === "image") return IMAGE_TOKENS;
  const { source } = block;
  if (block["type"] !== "document" || !isObject(source) || source["type"] !== "base64") return null;
  return pageTokens(source["data"]);
}

/** @param data in base64. */
function pageTokens(data: unknown): number {
  const pages = typeof data === "string" ? Math.ceil(data.length / PAGE_CHARACTERS) : 1;
  return Math.max(pages, 1) * PAGE_TOKENS;
}

/** What a Responses client sees on a screen is a picture, too. */
const PICTURES: ReadonlySet<unknown> = new Set(["input_image", "computer_screenshot"]);

function partTokens(part: JsonObject): number | null {
  if (PICTURES.has(part["type"])) return IMAGE_TOKENS;
  if (part["type"] !== "input_file") return null;
  const { file_data: data } = part;
  const text = typeof data === "string" ? TEXT_URL.exec(data)?.[1] : undefined;
  return text === undefined ? pageTokens(data) : estimateTokens((text.length * 3) / 4);
}

/** A file that is text counts as text. */
const TEXT_URL = /^data:(?:text\/|application\/json)[^,]*;base64,(.*)$/s;
