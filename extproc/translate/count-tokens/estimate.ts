import { IMAGE_TOKENS, PAGE_TOKENS } from "../../meter/media-tokens.ts";
import { estimateTokens } from "../../meter/meter.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";

/** How many base64 characters a page of PDF usually has. */
export const PAGE_CHARACTERS = 65_536;
/** Role and separators around each message. */
const MESSAGE_TOKENS = 4;
/** Quotes, colon and comma around a member of a schema or an input. */
const MEMBER_BYTES = 4;

/** Members that a model never reads. */
const UNREAD = new Set(["cache_control", "signature", "type", "media_type", "id", "tool_use_id"]);
/** Members that structure a message: their content is read, their names are not. */
const STRUCTURE = new Set([
  "role",
  "content",
  "text",
  "thinking",
  "input",
  "name",
  "description",
  "input_schema",
  "source",
  "data",
]);

/**
 * Estimate of a messages request's prompt in tokens, for `POST /v1/messages/count_tokens` if the upstream has no count of its own
 * (S16). Text and schemas count by their UTF-8 bytes, four to a token; images and PDF by size. Any part may be absent: agents
 * count tools alone, too.
 */
export function estimateInputTokens(request: JsonObject): number {
  const { messages } = request;
  const overhead = Array.isArray(messages) ? messages.length * MESSAGE_TOKENS : 0;
  return overhead + [request["system"], messages, request["tools"]].reduce<number>((sum, part) => sum + tokensOf(part), 0);
}

/** Uses an explicit work list: nesting may be deeper than the stack. */
function tokensOf(part: unknown): number {
  const waiting: unknown[] = [part];
  let bytes = 0;
  let tokens = 0;
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === "string") bytes += Buffer.byteLength(next);
    else if (typeof next === "number" || typeof next === "boolean") bytes += String(next).length;
    else if (Array.isArray(next)) for (const element of next) waiting.push(element);
    else if (isObject(next)) {
      const media = mediaTokens(next);
      tokens += media ?? 0;
      if (media === null) bytes += takeMembers(next, waiting);
    }
  }
  return tokens + estimateTokens(bytes);
}

function takeMembers(holder: JsonObject, waiting: unknown[]): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(holder)) {
    // A schema may describe a property of such a name; that is an object, and is read.
    if (name === "cache_control" || (UNREAD.has(name) && !isObject(value))) continue;
    if (!STRUCTURE.has(name)) bytes += Buffer.byteLength(name) + MEMBER_BYTES;
    waiting.push(value);
  }
  return bytes;
}

/** Tokens of a block that is not text; null for any other object. */
function mediaTokens(block: JsonObject): number | null {
  if (block["type"] === "image") return IMAGE_TOKENS;
  const { source } = block;
  if (block["type"] !== "document" || !isObject(source) || source["type"] !== "base64") return null;
  const { data } = source;
  const pages = typeof data === "string" ? Math.ceil(data.length / PAGE_CHARACTERS) : 1;
  return Math.max(pages, 1) * PAGE_TOKENS;
}
