import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { DocumentBlock, ImageBlock } from "../../protocol/messages/request-block.ts";

/** One part of a chat message's content. */
export type Part =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "file"; file: { filename: string; file_data: string } };

export function textPart(text: string): Part {
  return { type: "text", text };
}

/** A message's content: a string where it can be one, parts where it must, or where the server keeps them apart. */
export function encodeContent(parts: readonly Part[], takesTextParts: boolean): Encodable {
  const full = parts.filter((part) => part.type !== "text" || part.text !== "");
  const texts = full.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const isText = texts.length === full.length;
  if (isText && (texts.length <= 1 || !takesTextParts)) return texts.join("\n");
  return full.map((part) => ({ ...part }));
}

/** @param field where the block stands, for the error. */
export function translateImage({ source }: ImageBlock, field: string): Part {
  switch (source.type) {
    case "base64":
      return { type: "image_url", image_url: { url: `data:${source.media_type};base64,${source.data}` } };
    case "url":
      return { type: "image_url", image_url: { url: source.url } };
    case "file":
      throw refused(field, "Files stored with another service can't be read. Send the image as base64 or as a URL.");
  }
}

/** Documents are text to most chat servers; PDF needs one that takes files. A URL is never fetched (it could point inside). */
export function translateDocument({ source, title, context }: DocumentBlock, field: string, profile: Profile): Part[] {
  switch (source.type) {
    case "text":
      return [textPart(documentText(source.data, title, context))];
    case "content": {
      const texts = source.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
      const images = source.content.flatMap((block, index) =>
        block.type === "image" ? [translateImage(block, `${field}.source.content[${index}]`)] : [],
      );
      return [textPart(documentText(texts.join("\n"), title, context)), ...images];
    }
    case "base64": {
      if (!profile.files) throw refused(field, "This model reads no PDF. Send the document's text.");
      const file: Part = {
        type: "file",
        file: { filename: title ?? "document.pdf", file_data: `data:${source.media_type};base64,${source.data}` },
      };
      return context ? [textPart(context), file] : [file];
    }
    case "url":
      throw refused(field, "Documents are not fetched from a URL. Send the document's text.");
    case "file":
      throw refused(field, "Files stored with another service can't be read. Send the document's text.");
  }
}

function documentText(text: string, title: string | null | undefined, context: string | null | undefined): string {
  const attributes = `${title ? ` title=${JSON.stringify(title)}` : ""}${context ? ` context=${JSON.stringify(context)}` : ""}`;
  return `<document${attributes}>\n${text}\n</document>`;
}

function refused(field: string, message: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\`: ${message}`, { field });
}
