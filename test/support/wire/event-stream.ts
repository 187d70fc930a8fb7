import { crc32 } from "node:zlib";
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { createSseParser } from "../../../extproc/protocol/sse.ts";

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString("utf8"),
  (text) => Buffer.from(text),
);

/** A message of an AWS event stream, by AWS's own codec. All headers are text. */
export function encodeMessage(headers: Readonly<Record<string, string>>, payload: string | Buffer): Buffer {
  const typed = Object.entries(headers).map(([name, value]) => [name, { type: "string" as const, value }]);
  return Buffer.from(codec.encode({ headers: Object.fromEntries(typed), body: Buffer.from(payload) }));
}

/** A message that the codec would not make, with headers as they are on the wire. */
export function frame(headers: Buffer, payload: Buffer): Buffer {
  const prelude = encodePrelude({ length: headers.length + payload.length + 16, headersLength: headers.length });
  const checked = Buffer.concat([prelude, headers, payload]);
  return Buffer.concat([checked, checksum(checked)]);
}

/** The first bytes of a message of such lengths, whose checksum is right. */
export function encodePrelude({ length, headersLength = 0 }: { length: number; headersLength?: number }): Buffer {
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(length, 0);
  lengths.writeUInt32BE(headersLength, 4);
  return Buffer.concat([lengths, checksum(lengths)]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

/** One event, as Bedrock sends it: with padding against listeners who measure lengths. */
export function encodeChunk(data: string): Buffer {
  const payload = JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "abcdefghijk" });
  return encodeMessage({ ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" }, payload);
}

/** What ends a stream that fails. */
export function encodeException(name: string, message: string): Buffer {
  const headers = { ":exception-type": name, ":content-type": "application/json", ":message-type": "exception" };
  return encodeMessage(headers, JSON.stringify({ message }));
}

/** Server-sent events as Bedrock would send them. */
export function toEventStream(sse: string): Buffer[] {
  const parser = createSseParser();
  return [...parser.push(Buffer.from(sse)), ...parser.end()].map(({ data }) => encodeChunk(data));
}
