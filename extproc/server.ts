import { Server, ServerCredentials, status as grpcStatus, type ServerDuplexStream } from "@grpc/grpc-js";
import { MAX_REQUEST_BYTES, STAGE } from "../contract/headers.ts";
import {
  ExternalProcessor,
  type HttpBody,
  type HttpHeaders,
  type ProcessingRequest,
  type ProcessingResponse,
} from "../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { serviceDefinition } from "../runtime/grpc.ts";
import type { Logger } from "../runtime/log.ts";
import type { Exchange } from "./exchange.ts";

/** Reads ext_proc messages and hands them to one Exchange a request; the only reader of their shape. */

export interface ExtprocServer {
  /** Refuses new requests, waits for running ones, and fails those that are left at the deadline. */
  stop(deadlineMs: number): Promise<void>;
  readonly openStreams: number;
}

export interface ServerDeps {
  /** @param push sends Envoy a message that it has not asked for. */
  createExchange(push: Push): Steps;
  /** For one attempt of an exchange (operator/xds/attempts.ts). */
  createAttempt(push: Push): Steps;
  log: Logger;
}

/** What Envoy's messages are handed to. */
type Steps = Omit<Exchange, "facts">;

type Push = (response: ProcessingResponse) => void;

/**
 * A stream that is reset as it is opened is never told so (grpc-js loses it), and would stay for ever. Envoy's first
 * message comes with the stream: one that is silent for longer than this is such a stream.
 */
const SILENT_MS = 10_000;

type Call = ServerDuplexStream<ProcessingRequest, ProcessingResponse>;

/** @param address `host:port` or `unix:/path`. */
export async function startServer(address: string, deps: ServerDeps): Promise<ExtprocServer> {
  const calls = new Set<Call>();
  /** When each stream without a message was opened. */
  const silent = new Map<Call, number>();
  const server = new Server({
    // grpc-js refuses messages over 4 MB by default, which a BUFFERED prompt passes easily.
    "grpc.max_receive_message_length": MAX_REQUEST_BYTES + 1024 * 1024,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": 2 ** 31 - 1,
    // Lets a large body cross in few window updates.
    "grpc-node.flow_control_window": 4 * 1024 * 1024,
  });
  server.addService(serviceDefinition(ExternalProcessor), {
    process: (call: Call) => {
      calls.add(call);
      silent.set(call, performance.now());
      call.once("data", () => silent.delete(call));
      serve(call, deps, () => {
        calls.delete(call);
        silent.delete(call);
      });
    },
  });
  const { promise: bound, resolve, reject } = Promise.withResolvers<void>();
  server.bindAsync(address, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error)));
  await bound;

  const sweep = setInterval(() => {
    for (const [call, openedMs] of silent) if (performance.now() - openedMs > SILENT_MS) call.destroy();
  }, SILENT_MS);
  sweep.unref();

  return {
    get openStreams() {
      return calls.size;
    },
    async stop(deadlineMs) {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        for (const call of calls) failClosed(call);
        server.forceShutdown();
        onClosed();
      }, deadlineMs);
      server.tryShutdown(() => onClosed());
      await closed;
      clearTimeout(timer);
      clearInterval(sweep);
    },
  };
}

function serve(call: Call, deps: ServerDeps, onOver: () => void): void {
  const push = (response: ProcessingResponse) => send(call, response);
  const isAttempt = call.metadata.get(STAGE.header)[0] === STAGE.attempt;
  const exchange = isAttempt ? deps.createAttempt(push) : deps.createExchange(push);
  let isClosed = false;
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    onOver();
    exchange.closed();
  };

  call.on("data", (message: ProcessingRequest) => {
    const answered = answer(exchange, message);
    if (answered instanceof Promise) {
      answered.then((response) => send(call, response)).catch((error: unknown) => fail(error));
      return;
    }
    send(call, answered);
  });
  // Envoy half-closes when it is done; answering that ends the stream without a reset (DESIGN: rapid reset).
  call.on("end", () => {
    close();
    call.end();
  });
  call.on("cancelled", close);
  call.on("close", close);
  call.on("error", close);

  function fail(error: unknown): void {
    deps.log.error({ err: error }, "an exchange failed outside its own error handling");
    failClosed(call);
  }
}

function answer(exchange: Steps, message: ProcessingRequest): ProcessingResponse | Promise<ProcessingResponse> | undefined {
  const { request } = message;
  switch (request.case) {
    case "requestHeaders":
      return exchange.requestHeaders(readHeaders(request.value), request.value.endOfStream);
    case "requestBody":
      return exchange.requestBody(bytesOf(request.value));
    case "responseHeaders":
      return exchange.responseHeaders(readHeaders(request.value), {
        isLocalReply: isLocalReply(message),
        isEnd: request.value.endOfStream,
      });
    case "responseBody":
      return exchange.responseBody(bytesOf(request.value), request.value.endOfStream);
    case "requestTrailers":
    case "responseTrailers":
    case undefined:
      // The filter skips trailers; an unknown message needs no answer.
      return undefined;
  }
}

function send(call: Call, response: ProcessingResponse | undefined): void {
  if (response !== undefined && !call.cancelled && call.writable) call.write(response);
}

/**
 * Ends the gRPC stream with an error status: Envoy answers 503 and nothing goes upstream. A clean end, or
 * destroy(), would let Envoy forward the request unprocessed or wait for its timeout.
 */
function failClosed(call: Call): void {
  call.emit("error", { code: grpcStatus.UNAVAILABLE, details: "the processor could not finish this request" });
}

function readHeaders(message: HttpHeaders): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const { key, value, rawValue } of message.headers?.headers ?? []) {
    const text = rawValue.length > 0 ? bytes(rawValue).toString("latin1") : value;
    const earlier = headers.get(key);
    // A repeated header reads as one list, so that a second credential cannot hide behind the first.
    headers.set(key, earlier === undefined ? text : `${earlier}, ${text}`);
  }
  return headers;
}

/** Envoy's own replies (413, 503, …) pass the response path too; only what came "via_upstream" is metered. */
function isLocalReply(message: ProcessingRequest): boolean {
  const attributes = message.attributes["envoy.filters.http.ext_proc"];
  const details = attributes?.["response.code_details"];
  return typeof details === "string" && details !== "via_upstream";
}

function bytesOf(message: HttpBody): Buffer {
  return bytes(message.body);
}

function bytes(view: Uint8Array): Buffer {
  return Buffer.from(view.buffer, view.byteOffset, view.byteLength);
}
