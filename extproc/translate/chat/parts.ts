import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import { imageUrl, writeDocument as writeDocumentParts } from "../conversation/media.ts";
import type { DocumentBlock, ImageBlock } from "../conversation/turn.ts";

/** One part of a chat message's content. */
export type Part =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: string } }
  | { type: "file"; file: { filename: string; file_data: string } };

export function textPart(text: string): Part {
  return { type: "text", text };
}

/** A message's content: a string if possible, parts if necessary, or if the server keeps them apart. */
export function encodeContent(parts: readonly Part[], takesTextParts: boolean): Encodable {
  const full = parts.filter((part) => part.type !== "text" || part.text !== "");
  const texts = full.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const isText = texts.length === full.length;
  if (isText && (texts.length <= 1 || !takesTextParts)) return texts.join("\n");
  return full.map((part) => ({ ...part }));
}

export function writeImage({ source, detail }: ImageBlock): Part {
  return { type: "image_url", image_url: { url: imageUrl(source), ...(detail !== null && { detail }) } };
}

/** @throws GatewayError `invalid_request` for a PDF if the server accepts no files, and for a document by URL. */
export function writeDocument(block: DocumentBlock, profile: Profile): Part[] {
  const file = (name: string, data: string): Part => ({ type: "file", file: { filename: name, file_data: data } });
  return writeDocumentParts(block, profile, { text: textPart, image: writeImage, file, fileAt: null });
}
