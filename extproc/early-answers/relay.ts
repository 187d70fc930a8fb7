import { request as send, type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { HEADERS } from "../../contract/headers.ts";
import { isEventStream, isFramed } from "../headers.ts";
import { IDLE_MESSAGE } from "../translate/platform/event-stream.ts";

/** Where Envoy accepts the request on its way to the model server. */
export type RelayTarget = { socketPath: string } | { host: string; port: number };

/** @param address `host:port` or `unix:/path`. */
export function relayTarget(address: string): RelayTarget {
  if (address.startsWith("unix:")) return { socketPath: address.slice("unix:".length) };
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replaceAll(/[[\]]/g, ""), port: Number(address.slice(colon + 1)) };
}

type Headers = ReadonlyMap<string, string>;

export interface Relay {
  /** Envoy knows that the model server broke off; the connection may take seconds to end. */
  serverBroke(): void;
}

/** The exchange of a relayed request: events of an answer that cannot reach it through Envoy. */
export interface LateAnswer {
  /** Called first. */
  relayedBy(relay: Relay): void;
  /** Silence of the model server after which the relay answers. */
  readonly afterMs: number;
  /** Called back once the exchange can write to the client. */
  whenReady(then: () => void): void;
  /** The model server answers after the early answer. @returns what to do with its body */
  began(headers: Headers): "pass" | "collect" | "drop";
  /** The body of an error. */
  collected(headers: Headers, body: Buffer): void;
  /** The model server broke off. */
  brokeOff(): void;
}

/** The same from its exchange's perspective. */
export interface RelayedAnswer extends LateAnswer {
  /** Envoy accepts bytes for the client from now on, or waits for a complete answer. */
  ready(): void;
  /** Envoy reports that the model server broke off. */
  serverBroke(): void;
}

export interface RelayedRequest {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
  answer: LateAnswer;
  target: RelayTarget;
}

/** Any event stream may contain it; the exchange decides what the client gets. */
const FIRST_BYTES = ": waiting for the model server\n\n";
/** Errors are short. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Sends the request on and the answer back, or its own answer if there is none in time. */
export function relay({ stream, headers, answer, target }: RelayedRequest): void {
  const request = send({
    ...target,
    // The connection ends with the request: its end tells Envoy that the client left.
    agent: false,
    method: headers[":method"],
    path: headers[":path"],
    headers: requestHeaders(headers),
  });
  let isStream = false;
  let isFramedStream = false;
  let hasBytes = false;
  let timer: NodeJS.Timeout | undefined = setTimeout(answerEarly, answer.afterMs);

  answer.relayedBy({ serverBroke: brokeOff });
  stream.on("error", ignore);
  stream.on("close", () => {
    clearTimeout(timer);
    request.destroy();
  });
  sendBody(stream, request, Number(headers["content-length"]));
  request.on("error", () => {
    if (stream.headersSent) brokeOff();
    else respond(UNREACHABLE, { endStream: true });
  });
  request.on("response", (response) => {
    const received = responseHeaders(response);
    if (stream.headersSent) return answer.whenReady(() => answerLate(response, received));
    const status = Number(received.get(":status"));
    // HTTP/2 has no such answer.
    if (status < 200 || status > 599) return respond(INVALID, { endStream: true });
    respond(Object.fromEntries(received));
    isStream = status < 300 && isEventStream(received);
    isFramedStream = isFramed(received);
    if (isStream) timer = setTimeout(sendFirstBytes, answer.afterMs);
    pass(response);
  });

  function respond(sent: OutgoingHttpHeaders, options?: { endStream: boolean }): void {
    clearTimeout(timer);
    if (!stream.destroyed) stream.respond(sent, options);
  }

  function answerEarly(): void {
    isStream = true;
    respond(EARLY);
    sendFirstBytes();
  }

  /** Once Envoy has passed a byte on, the exchange can write to the client, too. */
  function sendFirstBytes(): void {
    clearTimeout(timer);
    if (!isStream || hasBytes || stream.destroyed) return;
    hasBytes = true;
    stream.write(isFramedStream ? IDLE_MESSAGE : FIRST_BYTES);
  }

  function answerLate(response: IncomingMessage, received: Headers): void {
    switch (answer.began(received)) {
      case "pass":
        return pass(response);
      case "collect":
        return collect(response, (body) => answer.collected(received, body));
      case "drop":
        response.destroy();
    }
  }

  function pass(response: IncomingMessage): void {
    response.on("data", (chunk: Buffer) => {
      hasBytes = true;
      clearTimeout(timer);
      if (!stream.write(chunk)) response.pause();
    });
    stream.on("drain", () => response.resume());
    response.on("end", () => {
      clearTimeout(timer);
      stream.end();
    });
    response.on("error", brokeOff);
  }

  function collect(response: IncomingMessage, then: (body: Buffer) => void): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isOver = false;
    const finish = () => {
      if (isOver) return;
      isOver = true;
      response.destroy();
      then(Buffer.concat(chunks));
    };
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_ERROR_BYTES) finish();
    });
    response.on("end", finish);
    response.on("error", finish);
  }

  function brokeOff(): void {
    if (stream.destroyed) return;
    sendFirstBytes();
    answer.whenReady(answer.brokeOff);
  }
}

/**
 * The request ends with its last byte, not with the end of the stream, which may come later: Envoy may have answered and closed
 * the connection by then, and a failed write would discard the answer.
 */
function sendBody(stream: ServerHttp2Stream, request: ClientRequest, length: number): void {
  let left = length;
  stream.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left === 0) request.end(chunk);
    else if (!request.write(chunk)) stream.pause();
  });
  request.on("drain", () => stream.resume());
  stream.on("end", () => {
    if (!request.writableEnded) request.end();
  });
}

const EARLY = { ":status": 200, "content-type": "text/event-stream", [HEADERS.earlyAnswer]: "1" };
const INVALID = { ":status": 502, [HEADERS.localReply]: "invalid_status" };
const UNREACHABLE = { ":status": 503, [HEADERS.localReply]: "early_answers_unreachable" };

/** Headers that concern a single connection, or this hop. */
const NOT_PASSED = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "te",
  HEADERS.earlyAnswer,
  HEADERS.worker,
]);

function requestHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith(":") && !NOT_PASSED.has(name));
  return { ...Object.fromEntries(kept), host: headers[":authority"] };
}

function responseHeaders({ statusCode = 0, headers }: IncomingMessage): Headers {
  const kept = Object.entries(headers).filter(([name]) => !NOT_PASSED.has(name));
  return new Map([[":status", String(statusCode)], ...kept.map(([name, value]): [string, string] => [name, String(value)])]);
}

function ignore(): void {}
