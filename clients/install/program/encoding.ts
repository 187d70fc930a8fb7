import type { Format } from "./edit/editor.ts";
import { Refused } from "./refused.ts";

/** Shell profiles may contain any bytes: in latin1 each survives. */
export function encodingOf(format: Format): BufferEncoding {
  return format === "profile" ? "latin1" : "utf8";
}

/** @throws Refused if the bytes are not the format's encoding. */
export function decodeAs(format: Format, bytes: Buffer): string {
  if (format === "profile") return bytes.toString("latin1");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused("It is not UTF-8 text.");
  }
}
