import { fieldError, type FieldPath } from "./field-path.ts";
import { parseDataUrl } from "./data-url.ts";
import type { DocumentBlock, ImageBlock } from "./turn.ts";

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * An image that chat or Responses writes as an address.
 * @param at where the address stands.
 * @throws GatewayError `invalid_request` for what no server takes as an image.
 */
export function readImageUrl(url: string, at: FieldPath): ImageBlock["source"] {
  if (/^https?:\/\//i.test(url)) return { kind: "url", url };
  const data = parseDataUrl(url);
  if (data === null) throw fieldError(at, " is neither an http(s) URL nor a data URL with an image.");
  const mediaType = data.mediaType === "image/jpg" ? "image/jpeg" : data.mediaType;
  if (!IMAGE_TYPES.has(mediaType)) throw fieldError(at, " is not a PNG, JPEG, GIF or WebP image. Convert it to one of them.");
  return { kind: "data", mediaType, base64: data.base64 };
}

/**
 * A file that chat or Responses writes as a data URL.
 * @throws GatewayError `invalid_request` for what is neither a PDF nor text.
 */
export function readFileData(fileData: string, at: FieldPath): DocumentBlock["source"] {
  const data = parseDataUrl(fileData);
  if (data?.mediaType === "application/pdf") return { kind: "data", mediaType: data.mediaType, base64: data.base64 };
  if (data?.mediaType === "text/plain") return { kind: "text", text: Buffer.from(data.base64, "base64").toString("utf8") };
  throw fieldError(at, " is not a data URL of type application/pdf or text/plain.");
}

/** A document as text, for servers that take none. */
export function documentText(text: string, title: string | null, context: string | null): string {
  const attributes = `${title ? ` title=${JSON.stringify(title)}` : ""}${context ? ` context=${JSON.stringify(context)}` : ""}`;
  return `<document${attributes}>\n${text}\n</document>`;
}

/** For servers that take no files. */
export function noPdf(at: FieldPath): Error {
  return fieldError(at, ": This model reads no PDF. Send the document's text.");
}
