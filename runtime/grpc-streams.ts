import { constants, createServer, type Http2Session, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { createFrameReader } from "./grpc-frame.ts";

/**
 * A gRPC server for one method with streams in both directions, over node:http2. It does what a proxy beside this process
 * needs and no more: no deadlines, no compression, no metadata of its own. Each message costs a fraction of what it costs in
 * @grpc/grpc-js, and ext_proc sends several a request (docs/decisions/0020).
 */
export interface GrpcStreams {
  readonly openStreams: number;
  /** Refuses new streams, waits for running ones, and fails those that are left at the deadline. */
  stop(deadlineMs: number): Promise<void>;
}

/** One stream, as its handler sees it. */
export interface GrpcStream {
  /** @param frame a message with its frame's header (FRAME_HEADER_BYTES) in front; nothing is sent after the end. */
  send(frame: Buffer): void;
  /** Ends it with status OK. */
  end(): void;
  /** Ends it with UNAVAILABLE. */
  fail(details: string): void;
}

/** What the other side said when it opened a stream, beside HTTP/2's own headers. */
export type GrpcMetadata = IncomingHttpHeaders;

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
const WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
const MANY = 2 ** 31 - 1;

export async function startGrpcStreams(options: GrpcStreamsOptions): Promise<GrpcStreams> {
  const sessions = new Set<Http2Session>();
  const open = new Set<Served>();
  const server = createServer({
    settings: { maxConcurrentStreams: MANY, initialWindowSize: WINDOW_BYTES },
    // The proxy is ours: what it holds open is bounded by its own settings.
    maxSessionMemory: MANY,
    // Node takes many resets for an attack; a proxy resets the streams of clients that leave.
    streamResetBurst: MANY,
    streamResetRate: MANY,
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.on("close", () => sessions.delete(session));
  });
  server.on("sessionError", options.onError);
  server.on("stream", (stream, headers) => {
    if (headers[":path"] !== options.method) return refuse(stream, UNIMPLEMENTED, "there is no such method");
    const served = serve(stream, headers, options);
    open.add(served);
    stream.on("close", () => open.delete(served));
  });
  // Whoever loses a reset (grpc-js's client does, where it cancels at once) would leave its stream here for ever.
  const sweep = setInterval(() => {
    for (const served of open) served.giveUpSilent();
  }, options.silentMs).unref();
  await listen(server, options.address);

  return {
    get openStreams() {
      return open.size;
    },
    async stop(deadlineMs) {
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      for (const session of sessions) session.close();
      const timer = setTimeout(() => {
        for (const served of open) served.fail("the server is stopping");
        for (const session of sessions) session.destroy();
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
  fail(details: string): void;
  /** Resets it where nothing is to come, and nothing was at the last look. */
  giveUpSilent(): void;
}

function serve(
  stream: ServerHttp2Stream,
  metadata: GrpcMetadata,
  { open, maxMessageBytes, onError }: GrpcStreamsOptions,
): Served {
  let isEnded = false;
  let hasSpoken = false;
  let isWatched = false;
  const call: GrpcStream = {
    send(frame) {
      if (isEnded || stream.destroyed) return;
      if (!stream.headersSent) stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
      stream.write(frame);
    },
    end: () => end(OK, ""),
    fail: (details) => end(UNAVAILABLE, details),
  };

  function end(status: string, details: string): void {
    if (isEnded || stream.destroyed) return;
    isEnded = true;
    if (!stream.headersSent) return refuse(stream, status, details);
    stream.on("wantTrailers", () => stream.sendTrailers(statusHeaders(status, details)));
    stream.end();
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
  // After its end, what still comes is thrown away.
  stream.on("data", (chunk: Buffer) => guarded(() => (isEnded ? undefined : reader.push(chunk))));
  stream.on("end", () => guarded(() => handler.ended()));
  stream.on("close", () => guarded(() => handler.closed()));
  // A reset by the other side; "close" follows.
  stream.on("error", () => {});
  return {
    fail: call.fail,
    giveUpSilent() {
      const isSilent = !hasSpoken || isEnded;
      if (isSilent && isWatched) stream.close(constants.NGHTTP2_CANCEL);
      isWatched = isSilent;
    },
  };
}

const CONTENT_TYPE = "application/grpc+proto";
const RESPONSE_HEADERS = { [constants.HTTP2_HEADER_STATUS]: 200, "content-type": CONTENT_TYPE };
const WITH_TRAILERS = { waitForTrailers: true };

/** A stream without messages has its status in its headers. */
function refuse(stream: ServerHttp2Stream, status: string, details: string): void {
  stream.on("error", () => {});
  stream.respond({ ...RESPONSE_HEADERS, ...statusHeaders(status, details) }, { endStream: true });
}

function statusHeaders(status: string, details: string): Record<string, string> {
  return details === "" ? { "grpc-status": status } : { "grpc-status": status, "grpc-message": details };
}

async function listen(server: ReturnType<typeof createServer>, address: string): Promise<void> {
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
