import { mediaIn, NO_MEDIA, type Media } from "./media.ts";
import { createStructureCount, REQUEST_BOUNDS, type Bounds } from "./bounds.ts";
import { scanMembers, skipString, type Member } from "./scan.ts";

/** JSON text without the contents of its long strings, which are empty. Prompts are mostly long strings. */
export interface Outline {
  /** The text itself if no string is long. */
  readonly text: Buffer;
  /** The position of an outline's byte in the original text. */
  toOriginal(at: number): number;
  /** Of the omitted parts. */
  readonly media: Readonly<Media>;
  /** Those of the object, with their positions in the outline, including duplicates; scanned once for all who ask. */
  members(): readonly Member[];
}

const LINE_BREAK = 10;
/** In bytes, with the quotes. For shorter strings, cutting costs more than parsing. */
export const LONG_STRING_BYTES = 512;
/** The maximum parsed of any body before its strings are requested: the size of a few million tokens without their text. */
export const MAX_OUTLINE_BYTES = 8 * 1024 * 1024;

/** There is too much outside the long strings. */
export class ExcessiveOutline extends Error {}

/**
 * The outline is JSON exactly if the text is, but for what stands in long strings, which nobody has looked at: a bad escape or
 * a control character. Where a string ends does not depend on these. Line breaks alone are looked for, because scripts that put a
 * file into a body send them; the text is its own outline then, and refused where they stand.
 * @throws ExcessiveStructure, ExcessiveOutline: what is beyond these bounds is not even looked at.
 */
export function outlineOf(json: Buffer, bounds: Bounds = REQUEST_BOUNDS): Outline {
  const structure = createStructureCount(bounds);
  const parts: Buffer[] = [];
  /** By long string: the position of its closing quote in the outline, and the omitted bytes up to there. */
  const quotes: number[] = [];
  const missing: number[] = [];
  let keptFrom = 0;
  let missingBytes = 0;
  const media = { ...NO_MEDIA };
  let lineBreak = -1;
  let at = walk(0);
  while (at < json.length) {
    const end = skipString(json, at);
    if (end - at > LONG_STRING_BYTES) {
      if (lineBreak < at) lineBreak = nextLineBreak(json, at);
      if (lineBreak < end) return itself(json);
      parts.push(json.subarray(keptFrom, at + 1));
      quotes.push(at + 1 - missingBytes);
      missingBytes += end - at - 2;
      missing.push(missingBytes);
      keptFrom = end - 1;
      const found = mediaIn(json, at, end);
      media.bytes += found?.bytes ?? 0;
      media.pages += found?.pages ?? 0;
    }
    at = walk(end);
  }
  if (parts.length === 0) return itself(json);
  parts.push(json.subarray(keptFrom));
  const toOriginal = (position: number) => position + (missing[lastUpTo(quotes, position)] ?? 0);
  return createOutline({ text: Buffer.concat(parts), toOriginal, media });

  /** To the next string; at most to the outline's bound. */
  function walk(from: number): number {
    const maxEnd = missingBytes + MAX_OUTLINE_BYTES + 1;
    const next = structure.walk(json, from, Math.min(json.length, maxEnd));
    if (next >= maxEnd) throw new ExcessiveOutline();
    return next;
  }
}

/** The text as its own outline. */
export function itself(json: Buffer): Outline {
  return createOutline({ text: json, toOriginal: samePosition, media: NO_MEDIA });
}

/** An outline whose members are scanned once. */
export function createOutline(outline: Omit<Outline, "members">): Outline {
  let members: readonly Member[] | undefined;
  return { ...outline, members: () => (members ??= scanMembers(outline.text)) };
}

function samePosition(position: number): number {
  return position;
}

function nextLineBreak(json: Buffer, at: number): number {
  const next = json.indexOf(LINE_BREAK, at);
  return next < 0 ? json.length : next;
}

/** Index of the last of these increasing numbers that is not greater; -1 if all are. */
function lastUpTo(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
