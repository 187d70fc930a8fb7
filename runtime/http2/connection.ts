import type { Socket } from "node:net";
import { createFleetingMap } from "../fleeting-map.ts";
import {
  createFrameParser,
  decodeNumber,
  decodeSettings,
  encodeNumber,
  encodeSettings,
  ERROR_CODE,
  FLAG,
  FRAME,
  SETTING,
  withoutPadding,
  type DataPiece,
  type FrameHeader,
} from "./frame.ts";
import { createHeaderDecoder } from "./header-decoder.ts";
import { createOutput } from "./output.ts";
import { createSender, type Outlet } from "./sender.ts";

/**
 * The server's side of one HTTP/2 connection (RFC 9113), for a proxy beside this process: no TLS, no push, no priorities, and
 * it reads as fast as the other side writes.
 */
export interface Http2Connection {
  /** Takes no new streams, and closes when the last one is over. */
  shut(): void;
  /** Closes at once, after what was sent. */
  destroy(): void;
}

export type Http2Headers = ReadonlyMap<string, string>;

/** One stream, as its handler sees it. Whatever is sent after its end is dropped. */
export interface Http2Stream {
  /** @param block in HPACK, without use of a table. */
  headers(block: Buffer, isEnd: boolean): void;
  /** @param bytes must not change afterwards. */
  data(bytes: Buffer): void;
  /** Ends both directions. */
  cancel(): void;
}

export interface Http2Handler {
  /** @param bytes share memory with what came with them. */
  data(bytes: Buffer): void;
  /** The other side sends no more. */
  ended(): void;
  /** Both sides have ended, or one has reset it, or the connection is gone. Comes once, last. */
  closed(): void;
}

export interface Http2ConnectionOptions {
  open(stream: Http2Stream, headers: Http2Headers): Http2Handler;
  onError(error: unknown): void;
  onClose(): void;
}

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
const FIRST_CONNECTION_WINDOW_BYTES = 65_535;
const MOST_HEADER_BYTES = 64 * 1024;
const MANY = 2 ** 31 - 1;
const CONNECTION = 0;
const PRIORITY_BYTES = 5;
const NOTHING = Buffer.alloc(0);

interface OpenStream {
  streamId: number;
  handler: Http2Handler;
  outlet: Outlet;
  /** Since the other side was last told that there is room. */
  receivedBytes: number;
  /** The other side's end has come. */
  isHeard: boolean;
  /** Our end has been sent. */
  isSent: boolean;
}

export function serveHttp2(socket: Socket, { open, onError, onClose }: Http2ConnectionOptions): Http2Connection {
  const streams = createFleetingMap<number, OpenStream>();
  const output = createOutput(socket);
  const sender = createSender({ output, onEnd: sent });
  const decoder = createHeaderDecoder();
  const parser = createFrameParser({ frame, data });
  let preface = PREFACE;
  let receivedBytes = 0;
  let lastStreamId = 0;
  /** A block of headers whose rest comes in further frames. */
  let unfinished: { streamId: number; isEnd: boolean; blocks: Buffer[]; bytes: number } | undefined;
  let isShut = false;
  let isOver = false;

  function read(chunk: Buffer): void {
    if (isOver) return;
    output.hold();
    try {
      const rest = preface.length > 0 ? readPreface(chunk) : chunk;
      if (rest.length > 0) parser.push(rest);
    } catch (error) {
      onError(error);
      output.put(FRAME.goAway, 0, CONNECTION, Buffer.concat([encodeNumber(lastStreamId), encodeNumber(ERROR_CODE.protocol)]));
      destroy();
    } finally {
      output.release();
    }
  }

  function readPreface(chunk: Buffer): Buffer {
    const length = Math.min(preface.length, chunk.length);
    if (!preface.subarray(0, length).equals(chunk.subarray(0, length))) throw new Error("a connection does not speak HTTP/2");
    preface = preface.subarray(length);
    return chunk.subarray(length);
  }

  function frame({ type, flags, streamId }: FrameHeader, payload: Buffer): void {
    if (unfinished !== undefined && (type !== FRAME.continuation || streamId !== unfinished.streamId))
      throw new Error("a frame stands inside a block of headers");
    switch (type) {
      case FRAME.headers:
        return headersBegin({ type, flags, streamId }, payload);
      case FRAME.continuation:
        return headersGoOn(flags, payload);
      case FRAME.reset:
        return close(streamId);
      case FRAME.settings:
        return (flags & FLAG.ack) === 0 ? settings(payload) : undefined;
      case FRAME.ping:
        return (flags & FLAG.ack) === 0 ? output.put(FRAME.ping, FLAG.ack, CONNECTION, payload) : undefined;
      case FRAME.windowUpdate:
        return streamId === CONNECTION
          ? sender.widen(decodeNumber(payload))
          : streams.get(streamId)?.outlet.widen(decodeNumber(payload));
      case FRAME.pushPromise:
        throw new Error("a client promises a push");
    }
  }

  function settings(payload: Buffer): void {
    const firstWindow = decodeSettings(payload).get(SETTING.initialWindowSize);
    if (firstWindow !== undefined) sender.setFirstWindow(firstWindow);
    output.put(FRAME.settings, FLAG.ack, CONNECTION, NOTHING);
  }

  function headersBegin({ flags, streamId }: FrameHeader, payload: Buffer): void {
    const whole = (flags & FLAG.padded) === 0 ? payload : withoutPadding(payload);
    const block = (flags & FLAG.priority) === 0 ? whole : whole.subarray(PRIORITY_BYTES);
    const isEnd = (flags & FLAG.endStream) !== 0;
    if ((flags & FLAG.endHeaders) !== 0) return headers(streamId, block, isEnd);
    unfinished = { streamId, isEnd, blocks: [block], bytes: block.length };
  }

  function headersGoOn(flags: number, payload: Buffer): void {
    if (unfinished === undefined) throw new Error("a block of headers goes on that has not begun");
    const { streamId, isEnd, blocks } = unfinished;
    blocks.push(payload);
    unfinished.bytes += payload.length;
    if (unfinished.bytes > MOST_HEADER_BYTES) throw new Error("a block of headers is too large");
    if ((flags & FLAG.endHeaders) === 0) return;
    unfinished = undefined;
    headers(streamId, Buffer.concat(blocks), isEnd);
  }

  function headers(streamId: number, block: Buffer, isEnd: boolean): void {
    // Also of a stream that is over: the blocks of a connection build on each other.
    const decoded = decoder.decode(block);
    if (streamId > lastStreamId) begin(streamId, decoded);
    // Behind a stream's data come its trailers, which say nothing here.
    if (isEnd) heard(streamId);
  }

  function begin(streamId: number, headers: Http2Headers): void {
    if (streamId % 2 === 0) throw new Error("a client opens a stream of the server's");
    lastStreamId = streamId;
    if (isShut) return output.put(FRAME.reset, 0, streamId, encodeNumber(ERROR_CODE.refusedStream));
    const outlet = sender.open(streamId);
    const stream: Http2Stream = {
      headers: outlet.headers,
      data: outlet.data,
      cancel() {
        if (streams.get(streamId) !== undefined) output.put(FRAME.reset, 0, streamId, encodeNumber(ERROR_CODE.cancel));
        close(streamId);
      },
    };
    const entry: OpenStream = { streamId, handler: WAITING, outlet, receivedBytes: 0, isHeard: false, isSent: false };
    streams.set(streamId, entry);
    entry.handler = open(stream, headers);
  }

  function data({ streamId, bytes, frameBytes, isEnd }: DataPiece): void {
    if (unfinished !== undefined) throw new Error("a frame stands inside a block of headers");
    receivedBytes += frameBytes;
    if (receivedBytes >= CONNECTION_WINDOW_BYTES / 2) {
      output.put(FRAME.windowUpdate, 0, CONNECTION, encodeNumber(receivedBytes));
      receivedBytes = 0;
    }
    const stream = streams.get(streamId);
    if (stream === undefined || stream.isHeard) return;
    stream.receivedBytes += frameBytes;
    if (stream.receivedBytes >= WINDOW_BYTES / 2) {
      output.put(FRAME.windowUpdate, 0, streamId, encodeNumber(stream.receivedBytes));
      stream.receivedBytes = 0;
    }
    if (bytes.length > 0) stream.handler.data(bytes);
    if (isEnd) heard(streamId);
  }

  function heard(streamId: number): void {
    const stream = streams.get(streamId);
    if (stream === undefined || stream.isHeard) return;
    stream.isHeard = true;
    stream.handler.ended();
    if (stream.isSent) close(streamId);
  }

  function sent(streamId: number): void {
    const stream = streams.get(streamId);
    if (stream === undefined) return;
    stream.isSent = true;
    if (stream.isHeard) close(streamId);
  }

  function close(streamId: number): void {
    const stream = streams.get(streamId);
    if (stream === undefined) return;
    streams.delete(streamId);
    stream.outlet.close();
    stream.handler.closed();
    if (isShut && streams.size === 0) output.end();
  }

  function destroy(): void {
    isOver = true;
    output.end();
    socket.destroySoon();
  }

  socket.setNoDelay(true);
  socket.on("data", read);
  socket.on("error", (error) => (isOver ? undefined : onError(error)));
  socket.on("close", () => {
    isOver = true;
    for (const { streamId } of streams.values()) close(streamId);
    onClose();
  });
  output.put(FRAME.settings, 0, CONNECTION, encodeSettings(SETTINGS));
  output.put(FRAME.windowUpdate, 0, CONNECTION, encodeNumber(CONNECTION_WINDOW_BYTES - FIRST_CONNECTION_WINDOW_BYTES));

  return {
    shut() {
      if (isShut || isOver) return;
      isShut = true;
      output.put(FRAME.goAway, 0, CONNECTION, Buffer.concat([encodeNumber(lastStreamId), encodeNumber(ERROR_CODE.none)]));
      if (streams.size === 0) output.end();
    },
    destroy,
  };
}

const SETTINGS: ReadonlyMap<number, number> = new Map([
  // The proxy is ours: what it holds open is bounded by its own settings.
  [SETTING.maxConcurrentStreams, MANY],
  [SETTING.initialWindowSize, WINDOW_BYTES],
]);

/** While a stream's own handler is being made. */
const WAITING: Http2Handler = { data() {}, ended() {}, closed() {} };
