import { PAGE_CHARACTERS } from "../../translate/count-tokens/estimate.ts";

/** Inline pictures and files as base64. */
export interface Media {
  /** Of these strings, without their quotes. */
  bytes: number;
  /** Of files other than pictures, estimated by their size. */
  pages: number;
}

export const NO_MEDIA: Readonly<Media> = { bytes: 0, pages: 0 };

const QUOTE = 34;
const COLON = 58;
/** Examined to distinguish base64 from text, which has blanks. */
const PROBE_BYTES = 64;
const BASE64 = /^[\w+/-]+$/;
const DATA_URL = /^data:([^,]*),/;
/** Members that contain base64 without a data URL's head. */
const HOLDERS: ReadonlySet<string> = new Set(["data", "file_data"]);
/** The beginnings of PNG, JPEG, GIF and WebP in base64. */
const PICTURE = /^(iVBOR|\/9j\/|R0lG|UklG)/;

/** Of a long JSON string in `json`, from quote to quote (`end` after the last one); null for anything but media. */
export function mediaIn(json: Buffer, start: number, end: number): Media | null {
  const head = json.toString("latin1", start + 1, Math.min(end - 1, start + 1 + 2 * PROBE_BYTES));
  const [prefix, type] = DATA_URL.exec(head) ?? [];
  const isDataUrl = type !== undefined && type.endsWith(";base64") && !type.startsWith("text/");
  if (!isDataUrl && !HOLDERS.has(nameBefore(json, start))) return null;
  const payload = isDataUrl ? head.slice(prefix?.length) : head;
  if (!BASE64.test(payload.slice(0, PROBE_BYTES))) return null;
  const bytes = end - start - 2;
  const isPicture = isDataUrl ? type.startsWith("image/") : PICTURE.test(payload);
  return { bytes, pages: isPicture ? 0 : Math.ceil(bytes / PAGE_CHARACTERS) };
}

/** The name of the member whose value begins here; empty if it is not a member's. */
function nameBefore(json: Buffer, start: number): string {
  const before = json.toString("latin1", Math.max(0, start - PROBE_BYTES), start).trimEnd();
  if (before.charCodeAt(before.length - 1) !== COLON) return "";
  const name = before.slice(0, -1).trimEnd();
  if (name.charCodeAt(name.length - 1) !== QUOTE) return "";
  return name.slice(name.lastIndexOf('"', name.length - 2) + 1, -1);
}
