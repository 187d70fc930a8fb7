/** The frames of HTTP/2 (RFC 9113), as far as a server of streams in both directions reads and writes them. */

export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const ERROR_CODE = { none: 0, protocol: 1, refusedStream: 7, cancel: 8 } as const;

export const SETTING = { maxConcurrentStreams: 3, initialWindowSize: 4 } as const;

/** What neither side asks to change: the most bytes in a frame, before its header. */
export const MOST_FRAME_BYTES = 16_384;
export const HEADER_BYTES = 9;

export interface FrameHeader {
  type: number;
  flags: number;
  /** 0: the connection. */
  streamId: number;
}

export interface FrameHandler {
  /** All of a frame, its payload whole. It shares memory with what was read. */
  frame(header: FrameHeader, payload: Buffer): void;
  /** As data comes: a large message is not held until its frame is there. */
  data(piece: DataPiece): void;
}

/** A piece of a stream's data. */
export interface DataPiece {
  streamId: number;
  /** Shares memory with what was read. */
  bytes: Buffer;
  /** What counts for flow control: padding, too. */
  frameBytes: number;
  /** The other side sends no more on this stream. */
  isEnd: boolean;
}

/** Cuts what comes over a connection into frames. @throws Error for a frame that is too large. */
export function createFrameParser(handler: FrameHandler): { push(chunk: Buffer): void } {
  let held: Buffer | undefined;
  /** Of the data frame whose rest is still to come. */
  let dataLeft = 0;
  let dataOf: FrameHeader = { type: FRAME.data, flags: 0, streamId: 0 };

  function push(chunk: Buffer): void {
    const bytes = held === undefined ? chunk : Buffer.concat([held, chunk]);
    held = undefined;
    let at = dataLeft > 0 ? passData(bytes, 0) : 0;
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      if (length > MOST_FRAME_BYTES) throw new Error(`an HTTP/2 frame of ${length} bytes is too large`);
      const header = {
        type: bytes[at + 3] ?? 0,
        flags: bytes[at + 4] ?? 0,
        streamId: bytes.readUInt32BE(at + 5) & 0x7fffffff,
      };
      const start = at + HEADER_BYTES;
      if (header.type === FRAME.data && (header.flags & FLAG.padded) === 0) {
        dataLeft = length;
        dataOf = header;
        at = passData(bytes, start);
        continue;
      }
      if (bytes.length - start < length) break;
      at = start + length;
      const payload = bytes.subarray(start, at);
      if (header.type === FRAME.data) passPadded(header, payload);
      else handler.frame(header, payload);
    }
    if (at < bytes.length) held = bytes.subarray(at);
  }

  /** @returns where the next frame begins, or the bytes' end. */
  function passData(bytes: Buffer, start: number): number {
    const end = Math.min(start + dataLeft, bytes.length);
    const isWhole = end - start === dataLeft;
    dataLeft -= end - start;
    if (end > start || isWhole) {
      const { streamId, flags } = dataOf;
      const isEnd = isWhole && (flags & FLAG.endStream) !== 0;
      handler.data({ streamId, bytes: bytes.subarray(start, end), frameBytes: end - start, isEnd });
    }
    return end;
  }

  function passPadded({ streamId, flags }: FrameHeader, payload: Buffer): void {
    const bytes = withoutPadding(payload);
    handler.data({ streamId, bytes, frameBytes: payload.length, isEnd: (flags & FLAG.endStream) !== 0 });
  }

  return { push };
}

/** @throws Error where there is more padding than payload. */
export function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0] ?? 0;
  if (payload.length === 0 || padding >= payload.length) throw new Error("an HTTP/2 frame has more padding than payload");
  return payload.subarray(1, payload.length - padding);
}

export function writeFrameHeader(
  bytes: Buffer,
  at: number,
  { type, flags, streamId, length }: FrameHeader & { length: number },
): void {
  bytes[at] = length >> 16;
  bytes[at + 1] = (length >> 8) & 0xff;
  bytes[at + 2] = length & 0xff;
  bytes[at + 3] = type;
  bytes[at + 4] = flags;
  bytes[at + 5] = streamId >>> 24;
  bytes[at + 6] = (streamId >> 16) & 0xff;
  bytes[at + 7] = (streamId >> 8) & 0xff;
  bytes[at + 8] = streamId & 0xff;
}

const SETTING_BYTES = 6;

/** Payload of a SETTINGS frame. */
export function encodeSettings(settings: ReadonlyMap<number, number>): Buffer {
  const payload = Buffer.alloc(settings.size * SETTING_BYTES);
  let at = 0;
  for (const [name, value] of settings) {
    payload.writeUInt16BE(name, at);
    payload.writeUInt32BE(value, at + 2);
    at += SETTING_BYTES;
  }
  return payload;
}

/** @throws Error where the payload is none of a SETTINGS frame. */
export function decodeSettings(payload: Buffer): Map<number, number> {
  if (payload.length % SETTING_BYTES !== 0) throw new Error("an HTTP/2 SETTINGS frame has an impossible length");
  const settings = new Map<number, number>();
  for (let at = 0; at < payload.length; at += SETTING_BYTES) settings.set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  return settings;
}

/** Payload of WINDOW_UPDATE, RST_STREAM: one number. */
export function encodeNumber(value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return payload;
}

/** @throws Error where the payload is not one number. */
export function decodeNumber(payload: Buffer): number {
  if (payload.length !== 4) throw new Error("an HTTP/2 frame has an impossible length");
  return payload.readUInt32BE(0);
}
