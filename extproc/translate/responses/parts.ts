import type { Profile } from "../../../contract/profile.ts";
import { writeDocument as writeDocumentParts } from "../conversation/media.ts";
import type { DocumentBlock, ImageBlock, ResultBlock } from "../conversation/turn.ts";

/** One part of what the user says, or of the result of a call. */
export type Part =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string };

export function textPart(text: string): Part {
  return { type: "input_text", text };
}

/** @throws GatewayError `invalid_request` for a PDF where the server takes no files. */
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

function writeImage({ source }: ImageBlock): Part {
  switch (source.kind) {
    case "data":
      return { type: "input_image", image_url: `data:${source.mediaType};base64,${source.base64}`, detail: "auto" };
    case "url":
      return { type: "input_image", image_url: source.url, detail: "auto" };
  }
}

function writeDocument(block: DocumentBlock, profile: Profile): Part[] {
  const file = (name: string, data: string): Part => ({ type: "input_file", filename: name, file_data: data });
  return writeDocumentParts(block, profile, { text: textPart, image: writeImage, file });
}
