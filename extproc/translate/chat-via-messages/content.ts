import { GatewayError } from "../../../contract/errors.ts";
import type { Part, PartOf } from "../../protocol/chat/request-content.ts";
import { isObject } from "../../protocol/json/object.ts";
import type { Block } from "./block.ts";
import { parseDataUrl } from "../conversation/data-url.ts";

/** How content becomes blocks. */
export interface ContentOptions {
  /** Path of the content for errors: `messages[2].content`. */
  field: string;
  /** How long cache marks last; null leaves it to the upstream. */
  cacheTtl: "1h" | null;
  /** Takes the names of what is left out. */
  dropped: Set<string>;
}

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * Content parts as messages' blocks. Text of white space alone is left out: messages servers refuse it.
 * @throws GatewayError `invalid_request` for a part that messages cannot carry.
 */
export function translateContent(parts: readonly Part[], options: ContentOptions): Block[] {
  return parts.flatMap((part, index) => translatePart(part, { ...options, field: `${options.field}[${index}]` }));
}

/** The text of parts that may be nothing else: system prompts. @throws GatewayError `invalid_request` for other parts. */
export function translateText(parts: readonly Part[], options: ContentOptions): Block[] {
  const other = parts.findIndex((part) => !isText(part));
  if (other >= 0)
    throw refuse(`${options.field}[${other}]`, "holds something other than text. A system message takes text alone");
  return translateContent(parts, options);
}

function translatePart(part: Part, options: ContentOptions): Block[] {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return textBlocks(part.text, cacheMark(part, options));
    case "refusal":
      return textBlocks(part.refusal, {});
    case "image_url":
      if (!isNeutralDetail(part.image_url.detail)) options.dropped.add("messages[].content[].image_url.detail");
      return [{ type: "image", source: imageSource(part.image_url.url, options), ...cacheMark(part, options) }];
    case "file":
      return [documentBlock(part, options)];
    case "input_audio":
      throw refuse(options.field, "is audio, which this model does not take. Send text, images or files");
  }
}

function textBlocks(text: string, mark: CacheMark): Block[] {
  return text.trim() === "" ? [] : [{ type: "text", text, ...mark }];
}

function imageSource(url: string, { field }: ContentOptions): Block {
  if (/^https?:\/\//i.test(url)) return { type: "url", url };
  const data = parseDataUrl(url);
  if (data === null) throw refuse(`${field}.image_url.url`, "is neither an http(s) URL nor a data URL with an image");
  const mediaType = data.mediaType === "image/jpg" ? "image/jpeg" : data.mediaType;
  if (!IMAGE_TYPES.has(mediaType))
    throw refuse(`${field}.image_url.url`, "is not a PNG, JPEG, GIF or WebP image. Convert it to one of them");
  return { type: "base64", media_type: mediaType, data: data.base64 };
}

function documentBlock(part: PartOf<"file">, options: ContentOptions): Block {
  const { filename, file_data } = part.file;
  const field = `${options.field}.file`;
  if (typeof file_data !== "string") {
    throw refuse(field, "names a stored file, and the gateway stores none. Send its content in `file_data`");
  }
  const data = parseDataUrl(file_data);
  const title = filename ? { title: filename } : {};
  if (data?.mediaType === "application/pdf") return document({ type: "base64", media_type: data.mediaType, data: data.base64 });
  if (data?.mediaType === "text/plain") {
    return document({ type: "text", media_type: data.mediaType, data: Buffer.from(data.base64, "base64").toString("utf8") });
  }
  throw refuse(`${field}.file_data`, "is not a data URL of type application/pdf or text/plain");

  function document(source: Block): Block {
    return { type: "document", source, ...title, ...cacheMark(part, options) };
  }
}

function isNeutralDetail(detail: unknown): boolean {
  return detail === undefined || detail === null || detail === "auto";
}

interface CacheMark {
  [name: string]: Block;
}

/** Marks for the prompt cache, in messages' own spelling (some agents put it into chat) and in chat's. */
export function cacheMark(
  holder: { cache_control?: unknown; prompt_cache_breakpoint?: unknown },
  { cacheTtl }: Pick<ContentOptions, "cacheTtl">,
): CacheMark {
  const own = holder.cache_control;
  if (isObject(own) && own["type"] === "ephemeral") {
    const ttl = own["ttl"] === "1h" || own["ttl"] === "5m" ? own["ttl"] : cacheTtl;
    return mark(ttl);
  }
  const isMarked =
    holder.prompt_cache_breakpoint !== undefined &&
    holder.prompt_cache_breakpoint !== null &&
    holder.prompt_cache_breakpoint !== false;
  return isMarked ? mark(cacheTtl) : {};
}

function mark(ttl: "1h" | "5m" | null): CacheMark {
  return { cache_control: ttl === null ? { type: "ephemeral" } : { type: "ephemeral", ttl } };
}

function isText(part: Part): boolean {
  return part.type === "text" || part.type === "input_text" || part.type === "output_text";
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}.`, { field });
}
