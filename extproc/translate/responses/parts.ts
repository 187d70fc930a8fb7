import type { Profile } from "../../../contract/profile.ts";
import { imageUrl, writeDocument as writeDocumentParts } from "../conversation/media.ts";
import type { DocumentBlock, ImageBlock, ResultBlock } from "../conversation/turn.ts";

/** One part of the user's content, or of the result of a call. */
export type Part =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: string }
  | { type: "input_file"; filename: string; file_data: string }
  | { type: "input_file"; file_url: string };

export function textPart(text: string): Part {
  return { type: "input_text", text };
}

/** @throws GatewayError `invalid_request` for a PDF or a document by URL if the server accepts no files. */
export function writeParts(block: ResultBlock, profile: Profile): Part[] {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [textPart(block.text)];
    case "image":
      return [writeImage(block)];
    case "document":
      return writeDocument(block, profile);
  }
}

function writeImage({ source, detail }: ImageBlock): Part {
  return { type: "input_image", image_url: imageUrl(source), detail: detail ?? "auto" };
}

function writeDocument(block: DocumentBlock, profile: Profile): Part[] {
  const file = (name: string, data: string): Part => ({ type: "input_file", filename: name, file_data: data });
  const fileAt = (url: string): Part => ({ type: "input_file", file_url: url });
  return writeDocumentParts(block, profile, { text: textPart, image: writeImage, file, fileAt });
}
