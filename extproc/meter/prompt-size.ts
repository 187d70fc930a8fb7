import { isObject } from "../protocol/json/object.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { IMAGE_TOKENS, PAGE_TOKENS } from "./media-tokens.ts";
import { estimateTokens } from "./meter.ts";

/** The parts of a prompt, read from a request in any protocol without parsing its text. */
export interface PromptSize {
  /** Of the body, without inline pictures and files. */
  textBytes: number;
  /** Parts that are pictures, inline or by reference. */
  images: number;
  /** Parts that are files or recordings, inline or by reference. */
  files: number;
  /** Our own count of the whole, in tokens, with pictures and files counted as `POST /v1/messages/count_tokens` does. */
  tokens: number;
}

/** Part types of pictures, in any protocol. */
export const IMAGE_PARTS: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);
const FILE_PARTS: ReadonlySet<unknown> = new Set(["document", "file", "input_file", "input_audio", "audio_url", "video_url"]);
/** Files that are text are counted as text. */
const TEXT_SOURCES: ReadonlySet<unknown> = new Set(["text", "content"]);
/** A tool result contains parts, like its message. */
const MAX_DEPTH = 4;

export function sizePrompt({ bytes, outline, media }: Pick<RequestBody, "bytes" | "outline" | "media">): PromptSize {
  const found = { images: 0, files: 0 };
  for (const list of [outline["messages"], outline["input"]]) countParts(list, found, MAX_DEPTH);
  const textBytes = bytes.length - media.bytes;
  const tokens = estimateTokens(textBytes) + found.images * IMAGE_TOKENS + Math.max(found.files, media.pages) * PAGE_TOKENS;
  return { textBytes, ...found, tokens };
}

function countParts(list: unknown, found: { images: number; files: number }, depth: number): void {
  if (!Array.isArray(list) || depth === 0) return;
  for (const part of list) {
    if (!isObject(part)) continue;
    const { type, source } = part;
    if (IMAGE_PARTS.has(type)) found.images += 1;
    else if (FILE_PARTS.has(type) && !(isObject(source) && TEXT_SOURCES.has(source["type"]))) found.files += 1;
    countParts(part["content"], found, depth - 1);
    countParts(part["output"], found, depth - 1);
  }
}
