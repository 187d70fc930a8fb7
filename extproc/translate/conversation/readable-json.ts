import { decodeName } from "../../protocol/json/scan.ts";
import { applyCuts } from "../../protocol/json/splice.ts";
import { walkObjects } from "../../protocol/json/walk.ts";
import { isMediaText } from "./media-text.ts";

const QUOTE = 34;
const NOT_SHOWN = '"[not text]"';

/** Members that hold pictures, sound, files, or what only its creator can read: guardrails leave these out (guardrails/media.ts). */
const MEDIA_MEMBERS: ReadonlySet<string> = new Set([
  "audio",
  "data",
  "encrypted_content",
  "file_data",
  "image_url",
  "signature",
  "thought_signature",
  "url",
]);

/**
 * JSON that a model reads as part of a text, without what is no text: it would be megabytes of letters without a meaning, and a way
 * around guardrails. All else stays as it is written.
 */
export function readableJson(json: string): string {
  const bytes = Buffer.from(json);
  const cuts = walkObjects(bytes, "", () => "")
    .flatMap(({ members }) => members)
    .filter(({ name, value }) => MEDIA_MEMBERS.has(name) && isMedia(bytes, value))
    .map(({ value }) => ({ ...value, bytes: NOT_SHOWN }))
    .toSorted((one, other) => one.start - other.start);
  return cuts.length === 0 ? json : applyCuts(bytes, cuts).toString("utf8");
}

function isMedia(json: Buffer, { start, end }: { start: number; end: number }): boolean {
  if (json[start] !== QUOTE) return false;
  // The head of a data URL says what it is, and is no text either.
  return isMediaText(json.subarray(start + 1, end - 1)) || /^data:/i.test(decodeName(json, start, end));
}
