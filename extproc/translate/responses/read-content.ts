import type { InputPart } from "../../protocol/responses/request-item.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";
import { readDetail, readFileData, readFileUrl, readImageUrl } from "../conversation/media.ts";
import type { DocumentBlock, ResultBlock, TextBlock } from "../conversation/turn.ts";

export interface InputContext {
  /** The Model's own name. */
  model: string;
  omitted: Omitted;
}

/**
 * Content parts as blocks. Text of white space alone carries nothing, and some servers reject it.
 * @throws GatewayError `invalid_request` for content that is stored elsewhere.
 */
export function readContent(parts: readonly InputPart[], at: FieldPath): ResultBlock[] {
  return parts.flatMap((part, index) => readPart(part, below(at, index)));
}

function readPart(part: InputPart, at: FieldPath): ResultBlock[] {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return textBlocks(part.text, at);
    case "refusal":
      return textBlocks(part.refusal, at);
    case "input_image": {
      if (part.file_id) throw stored(below(at, "file_id"));
      const urlAt = below(at, "image_url");
      if (!part.image_url) throw fieldError(urlAt, " is missing. Send the image as a data URL or by its address.");
      const source = readImageUrl(part.image_url, urlAt);
      return [{ type: "image", source, detail: readDetail(part.detail), cache: null, at }];
    }
    case "input_file":
      return [readFile(part, at)];
  }
}

function textBlocks(text: string, at: FieldPath): TextBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text, cache: null, at }];
}

function readFile(part: Extract<InputPart, { type: "input_file" }>, at: FieldPath): DocumentBlock {
  if (part.file_id) throw stored(below(at, "file_id"));
  return { type: "document", source: readFileSource(part, at), title: part.filename || null, context: null, cache: null, at };
}

function readFileSource(part: Extract<InputPart, { type: "input_file" }>, at: FieldPath): DocumentBlock["source"] {
  const dataAt = below(at, "file_data");
  if (part.file_url) return readFileUrl(part.file_url, below(at, "file_url"));
  if (!part.file_data) throw fieldError(dataAt, " is missing. Send the file as a data URL, or its address in `file_url`.");
  // Some clients send only the content of a PDF.
  const isBare = !part.file_data.startsWith("data:") && part.filename?.toLowerCase().endsWith(".pdf");
  const data = isBare ? `data:application/pdf;base64,${part.file_data}` : part.file_data;
  return readFileData(data, dataAt);
}

function stored(at: FieldPath): Error {
  return fieldError(at, " refers to a stored file; the gateway stores files for batches only. Send its content.");
}
