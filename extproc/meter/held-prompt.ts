import { isObject, type JsonObject } from "../protocol/json/object.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { MAX_IMAGE_TOKENS } from "./media-tokens.ts";
import { IMAGE_PARTS } from "./prompt-size.ts";

/** The maximum bytes of text and JSON per token; the meter's own estimate is four (meter.ts). */
const HELD_BYTES_PER_TOKEN = 3;
/** The possible size of a file, or of anything else that the request only refers to: the whole context window. */
const REFERENCE_TOKENS = 200_000;

const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  "text",
  "input_text",
  "output_text",
  "refusal",
  "thinking",
  "redacted_thinking",
  "reasoning",
  "tool_use",
  "tool_result",
  "tool_reference",
  "search_result",
]);
/** Members that contain media, under any type: some servers go by these alone. */
const IMAGE_MEMBERS = ["image_url", "image"];
const FILE_MEMBERS = [
  "file",
  "file_id",
  "file_url",
  "document",
  "audio",
  "audio_url",
  "input_audio",
  "video",
  "video_url",
  "url",
];
/** Members of a request through which a server finds more to read than was sent. */
const REFERENCES = [
  "previous_response_id",
  "conversation",
  "conversation_id",
  "thread_id",
  "session_id",
  "container",
  "mcp_servers",
  "web_search_options",
  "plugins",
  "documents",
  "files",
  "file_ids",
  "attachments",
];
const MAX_DEPTH = 4;

/**
 * The prompt in tokens as credit is held for it (S30): its bytes, and a minimum for each part whose tokens do not follow from
 * them. Never more than the context window.
 */
export function holdPrompt({ bytes, outline, serverTool }: RequestBody, contextWindow: number | null): number {
  const found = { images: 0, references: 0 };
  for (const list of [outline["messages"], outline["input"], outline["system"]]) countTurns(list, found);
  if (REFERENCES.some((name) => isThere(outline[name]))) found.references += 1;
  if (serverTool() !== null) found.references += 1;
  const tokens =
    heldTokensOf(bytes.length) + found.images * MAX_IMAGE_TOKENS + found.references * (contextWindow ?? REFERENCE_TOKENS);
  return Math.min(tokens, contextWindow ?? Infinity);
}

/** Of text and JSON. */
export function heldTokensOf(bytes: number): number {
  return Math.ceil(bytes / HELD_BYTES_PER_TOKEN);
}

interface Found {
  images: number;
  references: number;
}

function countTurns(turns: unknown, found: Found): void {
  if (!Array.isArray(turns)) return;
  for (const turn of turns) {
    if (!isObject(turn)) continue;
    countParts(turn["content"], found, MAX_DEPTH);
    countParts(turn["output"], found, MAX_DEPTH);
    // Of an earlier answer, which the server has and the client refers to.
    if (isObject(turn["audio"])) found.references += 1;
  }
}

function countParts(parts: unknown, found: Found, depth: number): void {
  // Messages allows a single part where others have a list.
  const list = Array.isArray(parts) ? parts : [parts];
  for (const part of list) {
    if (!isObject(part)) continue;
    if (isImage(part)) found.images += 1;
    else if (isReference(part)) found.references += 1;
    if (depth > 0) {
      countParts(part["content"], found, depth - 1);
      countParts(part["output"], found, depth - 1);
    } else found.references += 1;
  }
}

function isImage(part: JsonObject): boolean {
  return IMAGE_PARTS.has(part["type"]) || IMAGE_MEMBERS.some((name) => isThere(part[name]));
}

/** Files whose bytes are in the request count by these; anything not known to be text counts as a reference. */
function isReference(part: JsonObject): boolean {
  const { type, source, file } = part;
  if (isObject(source) && (source["type"] === "base64" || source["type"] === "text" || source["type"] === "content"))
    return false;
  if (isObject(file) && isThere(file["file_data"]) && !isThere(file["file_id"])) return false;
  if (type === "input_audio" && isObject(part["input_audio"])) return !isThere(part["input_audio"]["data"]);
  if (type === "input_file" && isThere(part["file_data"])) return isThere(part["file_id"]) || isThere(part["file_url"]);
  if (type === undefined || TEXT_PARTS.has(type)) return FILE_MEMBERS.some((name) => isThere(part[name]));
  return true;
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}
