import type { DocumentBlock as WireDocument, ImageBlock as WireImage } from "../../protocol/messages/request-block.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";
import { readFileUrl } from "../conversation/media.ts";
import type { DocumentBlock, ImageBlock } from "../conversation/turn.ts";

/** @throws GatewayError `invalid_request` for an image that another service stores. */
export function readImage({ source }: WireImage, at: FieldPath): ImageBlock {
  return { type: "image", source: imageSource(source, at), detail: null, cache: null, at };
}

/** @throws GatewayError `invalid_request` for a document that another service stores, and for an address that is not http(s). */
export function readDocument({ source, title, context }: WireDocument, at: FieldPath): DocumentBlock {
  return {
    type: "document",
    source: documentSource(source, at),
    title: title ?? null,
    context: context ?? null,
    cache: null,
    at,
  };
}

function imageSource(source: WireImage["source"], at: FieldPath): ImageBlock["source"] {
  switch (source.type) {
    case "base64":
      return { kind: "data", mediaType: source.media_type, base64: source.data };
    case "url":
      return { kind: "url", url: source.url };
    case "file":
      throw fieldError(at, ": Files stored with another service can't be read. Send the image as base64 or as a URL.");
  }
}

function documentSource(source: WireDocument["source"], at: FieldPath): DocumentBlock["source"] {
  switch (source.type) {
    case "text":
      return { kind: "text", text: source.data };
    case "content": {
      const contentAt = below(below(at, "source"), "content");
      const content = source.content.map((block, index) => {
        const blockAt = below(contentAt, index);
        return block.type === "image"
          ? readImage(block, blockAt)
          : { type: block.type, text: block.text, cache: null, at: blockAt };
      });
      return { kind: "blocks", content };
    }
    case "base64":
      return { kind: "data", mediaType: source.media_type, base64: source.data };
    case "url":
      return readFileUrl(source.url, below(below(at, "source"), "url"));
    case "file":
      throw fieldError(at, ": Files stored with another service can't be read. Send the document's text.");
  }
}
