import { isTextType } from "./media.ts";

/** Shorter ones are text: they may be words. */
const MIN_MEDIA_BYTES = 128;
/** As JSON writes it: some programs escape slashes. */
const BASE64 = /^[\w+/=\\-]*$/;
const OTHER_ESCAPE = /\\[^/]/;
/** Of a data URL: nothing that is longer has one. */
const HEAD_BYTES = 1024;
const DATA_URL = /^data:([^,]*),/i;

/** Whether a string is base64 of something that does not call itself text. @param bytes of a JSON string, without its quotes. */
export function isMediaText(bytes: Buffer): boolean {
  const [head = "", facts] = DATA_URL.exec(bytes.toString("latin1", 0, HEAD_BYTES)) ?? [];
  if (facts === undefined) return bytes.length >= MIN_MEDIA_BYTES && isBase64(bytes);
  const [type = "", ...parameters] = facts.replaceAll("\\/", "/").split(";");
  if (type.trim() === "" || isTextual(type) || facts.replaceAll("\\/", "/").includes("\\")) return false;
  return parameters.at(-1)?.toLowerCase() === "base64" && isBase64(bytes.subarray(head.length));
}

/** Whether a media type is that of a text, even if its markup hides it, or one that the gateway sends to models as text. */
export function isTextual(mediaType: string): boolean {
  const [type = ""] = mediaType.split(";", 1);
  return /^\s*text\//i.test(type) || isTextType(type.trim().toLowerCase());
}

function isBase64(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  return BASE64.test(text) && !OTHER_ESCAPE.test(text);
}
