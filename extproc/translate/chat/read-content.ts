import type { Part, PartOf } from "../../protocol/chat/request-content.ts";
import { isObject } from "../../protocol/json/object.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";
import { readDetail, readFileData, readImageUrl } from "../conversation/media.ts";
import type { CacheMark, DocumentBlock, ResultBlock, TextBlock } from "../conversation/turn.ts";

export interface ContentContext {
  /** Lifetime of cache marks that do not give one. */
  cacheTtl: CacheMark["ttl"];
  omitted: Omitted;
}

/**
 * Content parts as blocks. Text of white space alone carries nothing, and some servers reject it.
 * @throws GatewayError `invalid_request` for a part that no other protocol has.
 */
export function readContent(parts: readonly Part[], at: FieldPath, context: ContentContext): ResultBlock[] {
  return parts.flatMap((part, index) => readPart(part, below(at, index), context));
}

/** The text of parts that may be nothing else: system prompts. @throws GatewayError `invalid_request` for other parts. */
export function readText(parts: readonly Part[], at: FieldPath, context: ContentContext): TextBlock[] {
  return parts.flatMap((part, index) => {
    const partAt = below(at, index);
    if (!isText(part)) throw fieldError(partAt, " contains something other than text. System messages can only contain text.");
    return textBlocks(part.text, readCacheMark(part, context), partAt);
  });
}

function readPart(part: Part, at: FieldPath, context: ContentContext): ResultBlock[] {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return textBlocks(part.text, readCacheMark(part, context), at);
    case "refusal":
      return textBlocks(part.refusal, null, at);
    case "image_url": {
      const { url, detail } = part.image_url;
      const source = readImageUrl(url, below(below(at, "image_url"), "url"));
      return [{ type: "image", source, detail: readDetail(detail), cache: readCacheMark(part, context), at }];
    }
    case "file":
      return [readFile(part, at, context)];
    case "input_audio":
      throw fieldError(at, " is audio, which this model does not support. Send text, images or files.");
  }
}

function textBlocks(text: string, cache: CacheMark | null, at: FieldPath): TextBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text, cache, at }];
}

function readFile(part: PartOf<"file">, at: FieldPath, context: ContentContext): DocumentBlock {
  const { filename, file_data: fileData } = part.file;
  const fileAt = below(at, "file");
  if (typeof fileData !== "string")
    throw fieldError(
      fileAt,
      " refers to a stored file; the gateway stores files for batches only. Send its content in `file_data`.",
    );
  return {
    type: "document",
    source: readFileData(fileData, below(fileAt, "file_data")),
    title: filename || null,
    context: null,
    cache: readCacheMark(part, context),
    at,
  };
}

/** Marks for the prompt cache, in messages' own spelling (some agents put it into chat) and in chat's. */
export function readCacheMark(
  { cache_control: own, prompt_cache_breakpoint: breakpoint }: { cache_control?: unknown; prompt_cache_breakpoint?: unknown },
  { cacheTtl }: Pick<ContentContext, "cacheTtl">,
): CacheMark | null {
  if (isObject(own) && own["type"] === "ephemeral") {
    return { ttl: own["ttl"] === "1h" || own["ttl"] === "5m" ? own["ttl"] : cacheTtl };
  }
  return breakpoint !== undefined && breakpoint !== null && breakpoint !== false ? { ttl: cacheTtl } : null;
}

function isText(part: Part): part is PartOf<"text" | "input_text" | "output_text"> {
  return part.type === "text" || part.type === "input_text" || part.type === "output_text";
}
