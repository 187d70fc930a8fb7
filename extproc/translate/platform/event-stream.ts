import { crc32 } from "node:zlib";
import { GatewayError } from "../../../contract/errors.ts";
import { createByteBuffer } from "../../protocol/byte-buffer.ts";
import { MAX_EVENT_BYTES } from "../../protocol/sse.ts";

/** One message of an AWS event stream (`application/vnd.amazon.eventstream`). Valid only while it is read. */
export interface EventStreamMessage {
  /** Those with text, by name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Buffer;
}

export interface EventStreamReader {
  /**
   * @param take gets each message that ends in this chunk.
   * @throws GatewayError `upstream_error` for a damaged message, after the messages before it.
   */
  push(chunk: Buffer, take: (message: EventStreamMessage) => void): void;
  /** Of a message that is not complete yet. */
  heldBytes(): number;
}

/** Length of the message, length of its headers, and the checksum of both. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
const MIN_MESSAGE_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES;
/** As AWS defines it. */
const MAX_HEADERS_BYTES = 128 * 1024;

export function createEventStreamReader(): EventStreamReader {
  const held = createByteBuffer();

  function push(chunk: Buffer, take: (message: EventStreamMessage) => void): void {
    held.append(chunk);
    const bytes = held.view();
    let at = 0;
    for (let length = messageLength(bytes); length <= bytes.length - at; length = messageLength(bytes.subarray(at))) {
      take(parseMessage(bytes.subarray(at, at + length)));
      at += length;
    }
    held.drop(at);
  }

  return { push, heldBytes: held.length };
}

/** Of the message that begins here; infinite until its prelude is complete. */
function messageLength(bytes: Buffer): number {
  if (bytes.length < PRELUDE_BYTES) return Infinity;
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw damaged("the checksum of a prelude is wrong");
  const length = bytes.readUInt32BE(0);
  if (length > MAX_EVENT_BYTES) throw new GatewayError("upstream_error", "The model server sent one event of more than 32 MiB.");
  const headersBytes = bytes.readUInt32BE(4);
  if (headersBytes > Math.min(length - MIN_MESSAGE_BYTES, MAX_HEADERS_BYTES)) throw damaged("a message has too long headers");
  return length;
}

function parseMessage(message: Buffer): EventStreamMessage {
  const end = message.length - CHECKSUM_BYTES;
  if (crc32(message.subarray(0, end)) !== message.readUInt32BE(end)) throw damaged("the checksum of a message is wrong");
  const payloadAt = PRELUDE_BYTES + message.readUInt32BE(4);
  return { headers: parseHeaders(message.subarray(PRELUDE_BYTES, payloadAt)), payload: message.subarray(payloadAt, end) };
}

/** Types of values: bytes of those with a fixed length. */
const FIXED_BYTES = new Map([
  [0, 0],
  [1, 0],
  [2, 1],
  [3, 2],
  [4, 4],
  [5, 8],
  [8, 8],
  [9, 16],
]);
const BYTES_TYPE = 6;
const TEXT_TYPE = 7;

function parseHeaders(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  try {
    for (let at = 0; at < bytes.length;) {
      const nameEnd = at + 1 + bytes.readUInt8(at);
      const type = bytes.readUInt8(nameEnd);
      const isCounted = type === BYTES_TYPE || type === TEXT_TYPE;
      const valueAt = nameEnd + (isCounted ? 3 : 1);
      const valueEnd = valueAt + (isCounted ? bytes.readUInt16BE(nameEnd + 1) : (FIXED_BYTES.get(type) ?? Infinity));
      if (valueEnd > bytes.length) throw new RangeError(`a header of type ${type} is longer than the headers`);
      if (type === TEXT_TYPE) headers.set(bytes.toString("utf8", at + 1, nameEnd), bytes.toString("utf8", valueAt, valueEnd));
      at = valueEnd;
    }
  } catch (cause) {
    throw damaged("the headers of a message are malformed", cause);
  }
  return headers;
}

function damaged(why: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", "The model server's stream is damaged.", { cause: new Error(why, { cause }) });
}

/** A message that says nothing: may precede any other. */
export const IDLE_MESSAGE = makeIdleMessage();

function makeIdleMessage(): Buffer {
  const message = Buffer.alloc(MIN_MESSAGE_BYTES);
  message.writeUInt32BE(MIN_MESSAGE_BYTES, 0);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  message.writeUInt32BE(crc32(message.subarray(0, PRELUDE_BYTES)), PRELUDE_BYTES);
  return message;
}
