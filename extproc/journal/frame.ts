import { crc32 } from "node:zlib";

/**
 * How records lie in a segment: length and CRC-32 of the text, 4 bytes each, little-endian, then the text in UTF-8.
 *
 * The length is its own sync marker. It is below 2^14, so its upper two bytes are zero, and a text has no zero byte (JSON
 * escapes them): no text can hold a header, whoever chose its words, and a reader that has lost its place finds the next
 * frame by trying every byte. See docs/decisions/0007-journal.md.
 */
const HEADER_BYTES = 8;
const MAX_TEXT_BYTES = 2 ** 14 - 1;

/** @throws RangeError for a text that no reader would accept. */
export function encodeFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  if (length === 0 || length > MAX_TEXT_BYTES) throw new RangeError(`A journal record of ${length} bytes cannot be written.`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.write(text, HEADER_BYTES);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(crc32(frame.subarray(HEADER_BYTES)), 4);
  return frame;
}

export interface DecodedFrames {
  texts: string[];
  /** Stretches without a complete record. Each is the rest of one record, or of several adjacent ones. */
  gaps: number;
  /** The total size of those stretches. */
  brokenBytes: number;
}

/** Reads every complete record, whatever is before, between and after them. */
export function decodeFrames(bytes: Buffer): DecodedFrames {
  const texts: string[] = [];
  let gaps = 0;
  let brokenBytes = 0;
  let isInGap = false;
  for (let at = 0; at < bytes.length;) {
    const text = textAt(bytes, at);
    if (text !== undefined) {
      texts.push(text.toString("utf8"));
      at += HEADER_BYTES + text.length;
      isInGap = false;
      continue;
    }
    if (!isInGap) gaps++;
    isInGap = true;
    brokenBytes++;
    at++;
  }
  return { texts, gaps, brokenBytes };
}

/** A length of 0 is not a frame: zeros would be a frame with the right checksum. */
function textAt(bytes: Buffer, at: number): Buffer | undefined {
  if (bytes.length - at <= HEADER_BYTES) return undefined;
  const length = bytes.readUInt32LE(at);
  const end = at + HEADER_BYTES + length;
  if (length === 0 || length > MAX_TEXT_BYTES || end > bytes.length) return undefined;
  const text = bytes.subarray(at + HEADER_BYTES, end);
  return crc32(text) === bytes.readUInt32LE(at + 4) ? text : undefined;
}
