import {
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createFleetingMap } from "./fleeting-map.ts";
import { createFrameReader } from "./grpc-frame.ts";
import { removeStaleSocket } from "./stale-socket.ts";

/**
 * A gRPC server for streaming methods, over node:http2. It has only the features that a proxy next to this process needs: no
 * deadlines, no compression, no metadata of its own. Each message costs a fraction of its cost in @grpc/grpc-js, and ext_proc
 * sends several per request (docs/decisions/0018, docs/decisions/0020).
 */
export interface GrpcStreams {
  /** Excludes streams of background methods. */
  readonly openStreams: number;
  /** Refuses new streams, waits for running ones, and fails the remaining ones at the deadline. */
  stop(deadlineMs: number): Promise<void>;
}

/** One stream, as its handler sees it. */
export interface GrpcStream {
  /**
   * Nothing is sent after the end.
   * @param frame a message after its frame header (FRAME_HEADER_BYTES). @param rest the message's last bytes, if they are in a
   * buffer of their own. Neither may change afterwards.
   */
  send(frame: Buffer, rest?: Buffer | null): void;
  /** Accepts no messages beyond those that have arrived, until `resume`: flow control stops the sender. */
  pause(): void;
  resume(): void;
  /** False once the connection is gone, and every stream on it. True for a stream that is over by itself. */
  isConnected(): boolean;
  /** Ends it with status OK. */
  end(): void;
  /** Ends it with UNAVAILABLE. */
  fail(details: string): void;
}

/** The request headers of a stream. */
export type GrpcMetadata = Readonly<IncomingHttpHeaders>;

/** An exception thrown by a handler fails its stream. */
export interface GrpcHandler {
  /** @param message may share memory with other messages. */
  message(message: Buffer): void;
  /** The other side sends no more; not called for a stream that is reset, or whose connection is lost. */
  ended(): void;
  /** The stream is over, for whatever reason. Called once, last. */
  closed(): void;
}

export interface GrpcStreamsOptions {
  /** `host:port` or `unix:/path`. */
  address: string;
  /** By path: `/package.Service/Method`. */
  methods: Readonly<Record<string, GrpcMethod>>;
  /** Serves plain HTTP requests of the same client: those with this header. At a stop they count as streams. */
  http?: { header: string; serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void };
  maxMessageBytes: number;
  /** A stream is reset if at two checks, this long apart, it has sent no message yet, or has not ended although we have. */
  silentMs: number;
  /** Not for a connection that the other side resets while nothing but background streams runs on it: it may have ended. */
  onError(error: unknown): void;
}

/** The standard health check (grpc.health.v1): a process that answers is not stuck. The request is ignored. */
const HEALTH_CHECK = "/grpc.health.v1.Health/Check";
/** A frame header, and a message whose field 1, the status, is 1: SERVING. */
const SERVING = Buffer.from([0, 0, 0, 0, 2, 0x08, 1]);
interface GrpcMethod {
  /** Its streams stay open as long as their client runs: a stop ends them after all others have ended. */
  isBackground?: boolean;
  open(stream: GrpcStream, metadata: GrpcMetadata): GrpcHandler;
}

const OK = "0";
const UNIMPLEMENTED = "12";
const UNAVAILABLE = "14";

/** Memory that node:http2 may use for one connection, in MiB: requests and answers that are waiting to be sent. */
const MAX_SESSION_MIB = 1024;
const WINDOW_BYTES = 256 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
/** Per connection: more than the proxy's circuit breaker lets through (operator/bootstrap/extproc-cluster.ts). */
const MAX_STREAMS = 32_768;
const UNLIMITED = 2 ** 31 - 1;

export async function startGrpcStreams(options: GrpcStreamsOptions): Promise<GrpcStreams> {
  const sessions = new Set<ServerHttp2Session>();
  const methods = new Map<string | undefined, GrpcMethod>(Object.entries(options.methods));
  const open = createFleetingMap<number, ServedStream>();
  const background = new Set<ServedStream>();
  /** Those that were lost with a stream. */
  const broken = new WeakSet<Http2Session>();
  let opened = 0;
  let isStopping = false;

  function endBackground(): void {
    if (isStopping && open.size === 0) for (const stream of background) stream.end();
  }

  const server = createServer({
    settings: { maxConcurrentStreams: MAX_STREAMS, initialWindowSize: WINDOW_BYTES },
    maxSessionMemory: MAX_SESSION_MIB,
    // Node treats frequent resets as an attack, but this proxy resets the streams of clients that disconnect.
    streamResetBurst: UNLIMITED,
    streamResetRate: UNLIMITED,
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.on("close", () => sessions.delete(session));
  });
  server.on("sessionError", (error, session) => {
    if (!isReset(error) || broken.has(session)) options.onError(error);
  });
  server.on("stream", (stream, headers) => {
    // A reset by the other side; "close" follows.
    stream.on("error", ignore);
    if (headers[":path"] === HEALTH_CHECK) return respondServing(stream);
    const method = methods.get(headers[":path"]);
    if (method === undefined && options.http !== undefined && headers[options.http.header] !== undefined)
      return options.http.serve(stream, headers);
    if (method === undefined) return respondOnly(stream, UNIMPLEMENTED, "there is no such method");
    if (method.isBackground === true) {
      const served = serve(stream, headers, { ...options, ...method, onClosed: () => background.delete(served) });
      background.add(served);
      return;
    }
    const number = ++opened;
    const { session } = stream;
    const onClosed = () => {
      open.delete(number);
      if (session?.destroyed === true) broken.add(session);
      endBackground();
    };
    open.set(number, serve(stream, headers, { ...options, ...method, onClosed }));
  });
  // A client that loses a reset (grpc-js's does if it cancels at once) would leave its stream open forever.
  const sweep = setInterval(() => {
    for (const stream of open.values()) stream.resetIfSilent();
    for (const stream of background) stream.resetIfSilent();
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
      isStopping = true;
      endBackground();
      const timer = setTimeout(() => {
        for (const stream of open.values()) stream.fail("the server is stopping");
        for (const session of sessions) session.destroy();
        // Do not wait for a connection that the other side does not close.
        resolve();
      }, deadlineMs);
      await closed;
      clearTimeout(timer);
      clearInterval(sweep);
    },
  };
}

interface ServedStream {
  end(): void;
  fail(details: string): void;
  /** Resets the stream if it was silent now and at the last check. */
  resetIfSilent(): void;
}

interface ServeOptions extends GrpcStreamsOptions, GrpcMethod {
  onClosed(): void;
}

function serve(
  stream: ServerHttp2Stream,
  metadata: GrpcMetadata,
  { open, maxMessageBytes, onError, onClosed }: ServeOptions,
): ServedStream {
  let isEnded = false;
  let hasSpoken = false;
  let wasSilent = false;
  const { session } = stream;
  const call: GrpcStream = {
    send(frame, rest = null) {
      if (isEnded || stream.destroyed) return;
      if (!stream.headersSent) stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
      if (rest === null) {
        stream.write(frame);
        return;
      }
      stream.cork();
      stream.write(frame);
      stream.write(rest);
      stream.uncork();
    },
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    isConnected: () => session?.destroyed === false,
    end: () => end(OK, ""),
    fail: (details) => end(UNAVAILABLE, details),
  };

  function end(status: string, details: string): void {
    if (isEnded || stream.destroyed) return;
    isEnded = true;
    if (!stream.headersSent) return respondOnly(stream, status, details);
    stream.once("wantTrailers", () => stream.sendTrailers(statusHeaders(status, details)));
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

  let handler: GrpcHandler | null = open(call, metadata);
  const reader = createFrameReader(maxMessageBytes, (message) => {
    hasSpoken = true;
    if (!isEnded) handler?.message(message);
  });
  stream.on("data", (chunk: Buffer) => {
    // Whatever arrives after our end is discarded.
    if (!isEnded) guarded(() => reader.push(chunk));
  });
  stream.on("end", () => {
    // Node also emits this event for a stream that is reset or whose connection is lost.
    if (!stream.aborted && !stream.closed && !stream.destroyed) guarded(() => handler?.ended());
  });
  stream.on("close", () => {
    isEnded = true;
    onClosed();
    guarded(() => handler?.closed());
    // Node's own table of streams keeps this one after its end, with everything that it refers to (fleeting-map.ts).
    handler = null;
  });
  return {
    end: call.end,
    fail: call.fail,
    resetIfSilent() {
      const isSilent = !hasSpoken || isEnded;
      if (isSilent && wasSilent) stream.close(constants.NGHTTP2_CANCEL);
      wasSilent = isSilent;
    },
  };
}

const CONTENT_TYPE = "application/grpc+proto";
const RESPONSE_HEADERS = { [constants.HTTP2_HEADER_STATUS]: 200, "content-type": CONTENT_TYPE };
const WITH_TRAILERS = { waitForTrailers: true };
const NO_BODY = { endStream: true };

function ignore(): void {}

function isReset(error: Error): boolean {
  return "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE");
}

/** A stream without messages has its status in its headers. */
function respondOnly(stream: ServerHttp2Stream, status: string, details: string): void {
  stream.respond({ ...RESPONSE_HEADERS, ...statusHeaders(status, details) }, NO_BODY);
}

function respondServing(stream: ServerHttp2Stream): void {
  stream.resume();
  stream.respond(RESPONSE_HEADERS, WITH_TRAILERS);
  stream.once("wantTrailers", () => stream.sendTrailers(statusHeaders(OK, "")));
  stream.end(SERVING);
}

function statusHeaders(status: string, details: string): Record<string, string> {
  return details === "" ? { "grpc-status": status } : { "grpc-status": status, "grpc-message": details };
}

async function listen(server: ReturnType<typeof createServer>, address: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
  if (socket !== undefined) await removeStaleSocket(socket);
  server.once("error", reject);
  if (socket !== undefined) server.listen(socket, resolve);
  else {
    const colon = address.lastIndexOf(":");
    server.listen(Number(address.slice(colon + 1)), address.slice(0, colon).replaceAll(/[[\]]/g, ""), resolve);
  }
  await promise;
  server.off("error", reject);
}
