import { crc32 } from "node:zlib";

/**
 * How records lie in a segment: length and CRC-32 of the text, 4 bytes each, then the text in UTF-8. A process that is
 * killed may leave a part of its last record behind; the checksum tells it from a whole one.
 */
const HEADER_BYTES = 8;

export function encodeFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + length);
  frame.write(text, HEADER_BYTES);
  frame.writeUInt32LE(length, 0);
  frame.writeUInt32LE(crc32(frame.subarray(HEADER_BYTES)), 4);
  return frame;
}

/** @returns the whole records from the start on, and how many bytes behind them are none. */
export function decodeFrames(bytes: Buffer): { texts: string[]; brokenBytes: number } {
  const texts: string[] = [];
  let at = 0;
  while (bytes.length - at >= HEADER_BYTES) {
    const end = at + HEADER_BYTES + bytes.readUInt32LE(at);
    const body = bytes.subarray(at + HEADER_BYTES, end);
    if (end > bytes.length || crc32(body) !== bytes.readUInt32LE(at + 4)) break;
    texts.push(body.toString("utf8"));
    at = end;
  }
  return { texts, brokenBytes: bytes.length - at };
}
