import { connect } from "node:net";

/** A client of one HTTP/2 connection whose streams begin and never end. */
export interface OpenStreams {
  /** Codes of the streams that the server has reset. */
  resets(): number[];
  close(): void;
}

/** Of HTTP/2 (RFC 9113). */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME = { headers: 1, reset: 3, settings: 4 };
const END_HEADERS = 4;
const HEAD_BYTES = 9;
/** Of HPACK (RFC 7541): a literal that is kept in the table, one that is not, and the newest entry of the table. */
const KEPT = 0x40;
const NOT_KEPT = 0;
const NEWEST = 0x80 | 62;
/** Almost as long as the table. */
const LARGE_BYTES = 3_900;

const REQUEST = {
  ":method": "POST",
  ":scheme": "http",
  ":authority": "gateway",
  ":path": "/v1/chat/completions",
  // Waits for the body, which does not come (test/envoy/load/too-many-connections).
  "x-script": "wait",
};

/**
 * Sends the headers of so many streams at once. Each refers so often to a header of 3.9 KB that the connection sends once; a
 * reference takes one byte.
 */
export function openStreams(url: string, { streams, references }: { streams: number; references: number }): OpenStreams {
  const request = Buffer.concat(Object.entries(REQUEST).map(([name, value]) => header(NOT_KEPT, name, value)));
  const large = header(KEPT, "x-large", "a".repeat(LARGE_BYTES));
  const frames = Array.from({ length: streams }, (_, index) => {
    const fields = [request, ...(index === 0 ? [large] : []), Buffer.alloc(references, NEWEST)];
    return frame(FRAME.headers, END_HEADERS, 1 + 2 * index, Buffer.concat(fields));
  });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let received: Buffer = Buffer.alloc(0);
  socket.on("error", () => undefined);
  socket.on("data", (piece) => (received = Buffer.concat([received, piece])));
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0, Buffer.alloc(0)), ...frames]));
  return { resets: () => resetsIn(received), close: () => socket.destroy() };
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function header(kind: number, name: string, value: string): Buffer {
  const text = Buffer.from(value);
  // Lengths from 127 on continue in groups of seven bits.
  const length = text.length < 127 ? [text.length] : [127, 0x80 | ((text.length - 127) & 0x7f), (text.length - 127) >> 7];
  return Buffer.concat([Buffer.from([kind, name.length]), Buffer.from(name), Buffer.from(length), text]);
}

function resetsIn(received: Buffer): number[] {
  const codes: number[] = [];
  for (let at = 0; at + HEAD_BYTES <= received.length; at += HEAD_BYTES + received.readUIntBE(at, 3))
    if (received.readUInt8(at + 3) === FRAME.reset && at + HEAD_BYTES + 4 <= received.length)
      codes.push(received.readUInt32BE(at + HEAD_BYTES));
  return codes;
}
