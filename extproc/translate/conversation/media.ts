import type { Profile } from "../../../contract/profile.ts";
import { fieldError, type FieldPath } from "./field-path.ts";
import { parseDataUrl } from "./data-url.ts";
import type { DocumentBlock, ImageBlock } from "./turn.ts";

/** Subtypes of `application` that are text, among them code and tables. */
const TEXT_APPLICATIONS: ReadonlySet<string> = new Set([
  "json",
  "jsonl",
  "x-ndjson",
  "xml",
  "yaml",
  "x-yaml",
  "toml",
  "csv",
  "sql",
  "graphql",
  "javascript",
  "x-javascript",
  "ecmascript",
  "typescript",
  "x-typescript",
  "x-sh",
  "x-httpd-php",
]);

const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * An image that chat or Responses writes as an address.
 * @param at where the address is.
 * @throws GatewayError `invalid_request` for anything that no server accepts as an image.
 */
export function readImageUrl(url: string, at: FieldPath): ImageBlock["source"] {
  if (isWebAddress(url)) return { kind: "url", url };
  const data = parseDataUrl(url);
  if (data === null) throw fieldError(at, " is neither an http(s) URL nor a data URL with an image.");
  const mediaType = data.mediaType === "image/jpg" ? "image/jpeg" : data.mediaType;
  if (!IMAGE_TYPES.has(mediaType)) throw fieldError(at, " is not a PNG, JPEG, GIF or WebP image. Convert it to one of them.");
  return { kind: "data", mediaType, base64: data.base64 };
}

/**
 * The address of a document, which the server fetches itself.
 * @param at where the address is.
 * @throws GatewayError `invalid_request` for anything but an http(s) address.
 */
export function readFileUrl(url: string, at: FieldPath): DocumentBlock["source"] {
  if (isWebAddress(url)) return { kind: "url", url, at };
  throw fieldError(at, " is not an http(s) URL. Use one that the model server can fetch, or send the document's content.");
}

function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/** How closely to look at an image; null if that is left to the server. */
export function readDetail(detail: string | null | undefined): string | null {
  return detail && detail !== "auto" ? detail : null;
}

/**
 * A file that chat or Responses writes as a data URL. Some clients put its address there.
 * @throws GatewayError `invalid_request` for anything but a PDF or text.
 */
export function readFileData(fileData: string, at: FieldPath): DocumentBlock["source"] {
  if (isWebAddress(fileData)) return { kind: "url", url: fileData, at };
  const data = parseDataUrl(fileData);
  if (data?.mediaType === "application/pdf") return { kind: "data", mediaType: data.mediaType, base64: data.base64 };
  if (data !== null && isTextType(data.mediaType)) {
    return { kind: "text", text: Buffer.from(data.base64, "base64").toString("utf8") };
  }
  throw fieldError(
    at,
    " is not a data URL of a PDF or a text, such as data:application/pdf;base64,… or data:text/csv;base64,…. Convert the file to one of them.",
  );
}

/** RTF is not: its markup hides the text. @param mediaType in lower case, without parameters. */
export function isTextType(mediaType: string): boolean {
  const [type = "", subtype = ""] = mediaType.split("/", 2);
  if (type === "text") return subtype !== "rtf";
  return type === "application" && (TEXT_APPLICATIONS.has(subtype) || /\+(?:json|xml)$/.test(subtype));
}

/** The image as chat and Responses write it. */
export function imageUrl(source: ImageBlock["source"]): string {
  switch (source.kind) {
    case "data":
      return `data:${source.mediaType};base64,${source.base64}`;
    case "url":
      return source.url;
  }
}

/** How a protocol writes the parts of a message. */
interface PartWriter<Part> {
  text(text: string): Part;
  image(block: ImageBlock): Part;
  /** @param data a data URL. */
  file(name: string, data: string): Part;
  /** Null if the protocol has no files by URL. */
  readonly fileAt: ((url: string) => Part) | null;
}

/**
 * Documents are text to most servers.
 * @throws GatewayError `invalid_request` for a PDF or an address if the server accepts no files, and for an address if its
 * protocol has none.
 */
export function writeDocument<Part>(
  { source, title, context, at }: DocumentBlock,
  { files }: Pick<Profile, "files">,
  write: PartWriter<Part>,
): Part[] {
  switch (source.kind) {
    case "text":
      return [write.text(documentText(source.text, title, context))];
    case "blocks": {
      const texts = source.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
      const images = source.content.flatMap((block) => (block.type === "image" ? [write.image(block)] : []));
      return [write.text(documentText(texts.join("\n"), title, context)), ...images];
    }
    case "data": {
      if (!files) throw fieldError(at, ": This model does not support PDFs. Send the document's text.");
      const file = write.file(title ?? "document.pdf", `data:${source.mediaType};base64,${source.base64}`);
      return context ? [write.text(context), file] : [file];
    }
    case "url": {
      if (!files || write.fileAt === null)
        throw fieldError(
          source.at,
          " can't be used: this model's server takes no documents by URL. Send the document's content.",
        );
      // Beside an address there is no place for a name.
      const texts = [title, context].flatMap((text) => (text ? [write.text(text)] : []));
      return [...texts, write.fileAt(source.url)];
    }
  }
}

function documentText(text: string, title: string | null, context: string | null): string {
  const attributes = `${title ? ` title=${JSON.stringify(title)}` : ""}${context ? ` context=${JSON.stringify(context)}` : ""}`;
  return `<document${attributes}>\n${text}\n</document>`;
}
