import { createServer, type Server } from "node:net";
import { createFleetingMap } from "./fleeting-map.ts";
import { createFrameReader } from "./grpc-frame.ts";
import { serveHttp2, type Http2Connection, type Http2Handler, type Http2Headers, type Http2Stream } from "./http2/connection.ts";
import { encodeHeaders } from "./http2/encode-headers.ts";

/**
 * A gRPC server for one method with streams in both directions, over HTTP/2 of our own. It does what a proxy beside this
 * process needs and no more: no deadlines, no compression, no metadata of its own. Each message costs a fraction of what it
 * costs in @grpc/grpc-js or over node:http2, and ext_proc sends several a request (docs/decisions/0018 and 0020).
 */
export interface GrpcStreams {
  readonly openStreams: number;
  /** Refuses new streams, waits for running ones, and fails those that are left at the deadline. */
  stop(deadlineMs: number): Promise<void>;
}

/** One stream, as its handler sees it. */
export interface GrpcStream {
  /**
   * Nothing is sent after the end.
   * @param frame a message with its frame's header (FRAME_HEADER_BYTES) in front. @param rest the message's last bytes, where they
   * are apart. Neither may change afterwards.
   */
  send(frame: Buffer, rest?: Buffer | null): void;
  /** Ends it with status OK. */
  end(): void;
  /** Ends it with UNAVAILABLE. */
  fail(details: string): void;
}

/** What the other side said when it opened a stream, beside HTTP/2's own headers. */
export type GrpcMetadata = Http2Headers;

/** What a handler throws fails its stream. */
export interface GrpcHandler {
  /** @param message may share memory with other messages. */
  message(message: Buffer): void;
  /** The other side sends no more. */
  ended(): void;
  /** It is over, however that came. Comes once, last. */
  closed(): void;
}

export interface GrpcStreamsOptions {
  /** `host:port` or `unix:/path`. */
  address: string;
  /** `/package.Service/Method` */
  method: string;
  maxMessageBytes: number;
  /** A stream that at two looks, this long apart, has sent no message yet, or has not been ended after us, is given up. */
  silentMs: number;
  open(stream: GrpcStream, metadata: GrpcMetadata): GrpcHandler;
  onError(error: unknown): void;
}

const OK = "0";
const UNIMPLEMENTED = "12";
const UNAVAILABLE = "14";

export async function startGrpcStreams(options: GrpcStreamsOptions): Promise<GrpcStreams> {
  const connections = new Set<Http2Connection>();
  const open = createFleetingMap<number, Served>();
  let opened = 0;
  const server = createServer((socket) => {
    const connection = serveHttp2(socket, {
      open(stream, headers) {
        if (headers.get(":path") !== options.method) return refuse(stream, UNIMPLEMENTED, "there is no such method");
        const number = ++opened;
        const served = serve(stream, headers, { ...options, onClosed: () => open.delete(number) });
        open.set(number, served);
        return served.handler;
      },
      onError: options.onError,
      onClose: () => connections.delete(connection),
    });
    connections.add(connection);
  });
  // Whoever loses a reset (grpc-js's client does, where it cancels at once) would leave its stream here for ever.
  const sweep = setInterval(() => {
    for (const served of open.values()) served.giveUpSilent();
  }, options.silentMs).unref();
  await listen(server, options.address);

  return {
    get openStreams() {
      return open.size;
    },
    async stop(deadlineMs) {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      for (const connection of connections) connection.shut();
      const timer = setTimeout(() => {
        for (const served of open.values()) served.fail("the server is stopping");
        for (const connection of connections) connection.destroy();
        // A connection whose other side does not close it either would be waited for.
        resolve();
      }, deadlineMs);
      await closed;
      clearTimeout(timer);
      clearInterval(sweep);
    },
  };
}

interface Served {
  handler: Http2Handler;
  fail(details: string): void;
  /** Resets it where nothing is to come, and nothing was at the last look. */
  giveUpSilent(): void;
}

interface ServeOptions extends GrpcStreamsOptions {
  onClosed(): void;
}

function serve(stream: Http2Stream, metadata: GrpcMetadata, { open, maxMessageBytes, onError, onClosed }: ServeOptions): Served {
  let isEnded = false;
  let isAnswered = false;
  let hasSpoken = false;
  let isWatched = false;
  const call: GrpcStream = {
    send(frame, rest = null) {
      if (isEnded) return;
      if (!isAnswered) stream.headers(RESPONSE_HEADERS, false);
      isAnswered = true;
      stream.data(frame);
      if (rest !== null) stream.data(rest);
    },
    end: () => end(OK, ""),
    fail: (details) => end(UNAVAILABLE, details),
  };

  function end(status: string, details: string): void {
    if (isEnded) return;
    isEnded = true;
    stream.headers(status === OK && isAnswered ? GOOD_END : encodeEnd({ status, details, isAnswered }), true);
  }

  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      onError(error);
      end(UNAVAILABLE, "internal error");
    }
  }

  const handler = open(call, metadata);
  const reader = createFrameReader(maxMessageBytes, (message) => {
    hasSpoken = true;
    if (!isEnded) handler.message(message);
  });
  return {
    handler: {
      data(bytes) {
        // After its end, what still comes is thrown away.
        if (isEnded) return;
        guarded(() => reader.push(bytes));
      },
      ended: () => guarded(() => handler.ended()),
      closed() {
        isEnded = true;
        onClosed();
        guarded(() => handler.closed());
      },
    },
    fail: call.fail,
    giveUpSilent() {
      const isSilent = !hasSpoken || isEnded;
      if (isSilent && isWatched) stream.cancel();
      isWatched = isSilent;
    },
  };
}

const CONTENT_TYPE = "application/grpc+proto";
const RESPONSE_HEADERS = encodeHeaders({ ":status": "200", "content-type": CONTENT_TYPE });
const GOOD_END = encodeHeaders({ "grpc-status": OK });
const IGNORING: Http2Handler = { data() {}, ended() {}, closed() {} };

/** A stream without messages has its status in its headers. */
function encodeEnd({ status, details, isAnswered }: { status: string; details: string; isAnswered: boolean }): Buffer {
  return encodeHeaders({
    ...(isAnswered ? {} : { ":status": "200", "content-type": CONTENT_TYPE }),
    "grpc-status": status,
    ...(details === "" ? {} : { "grpc-message": details }),
  });
}

function refuse(stream: Http2Stream, status: string, details: string): Http2Handler {
  stream.headers(encodeEnd({ status, details, isAnswered: false }), true);
  return IGNORING;
}

async function listen(server: Server, address: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  if (address.startsWith("unix:")) server.listen(address.slice("unix:".length), resolve);
  else {
    const colon = address.lastIndexOf(":");
    server.listen(Number(address.slice(colon + 1)), address.slice(0, colon).replaceAll(/[[\]]/g, ""), resolve);
  }
  await promise;
  server.off("error", reject);
}
