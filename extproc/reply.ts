import { FRAME_HEADER_BYTES } from "../runtime/grpc-frame.ts";
import { createWriter } from "./wire/writer.ts";

/**
 * Builds the ext_proc messages that answer Envoy (envoy.service.ext_proc.v3.ProcessingResponse): the only module that knows their
 * shape, besides processing-request.ts. The numbers are the schema's (test/unit/extproc/ext-proc-wire.test.ts compares them with
 * it).
 */

/** One message in its gRPC frame, ready to send. */
export interface Reply {
  readonly frame: Buffer;
  /** The frame's last bytes, if they are too many to copy into it. */
  readonly rest: Buffer | null;
}

type Headers = Readonly<Record<string, string>>;

export interface HeaderChanges {
  set?: Headers;
  remove?: readonly string[];
}

export interface ImmediateAnswer {
  status: number;
  headers: Headers;
  body: Buffer;
  /** The reason, for Envoy's access log: `gateway_…`. Envoy's own reply mapper ignores such replies. */
  details: string;
}

/** Copying more than this costs more than a second buffer in the write. */
const COPIED_BYTES = 8 * 1024;

/** Which of Envoy's messages is answered: a field of ProcessingResponse. */
const REQUEST_HEADERS = 1;
const RESPONSE_HEADERS = 2;
const REQUEST_BODY = 3;
const RESPONSE_BODY = 4;
const RESPONSE_TRAILERS = 6;
const IMMEDIATE_RESPONSE = 7;
const DYNAMIC_METADATA = 8;
const MODE_OVERRIDE = 9;

/** Of HeadersResponse and BodyResponse: a CommonResponse. */
const COMMON_RESPONSE = 1;

/** Every function here finishes the message that it starts. */
const writer = createWriter();

/** Request headers are accepted so far: send the body. */
export function continueToBody(): Reply {
  return CONTINUE_TO_BODY;
}

/** Envoy answers the client itself; nothing goes upstream. */
export function answerNow({ status, headers, body, details }: ImmediateAnswer): Reply {
  writer.start();
  writer.text(5, details);
  writer.bytes(3, body);
  writeMutation(2, { set: headers });
  const from = writer.length();
  // HttpStatus: `code` 1.
  writer.varint(1, status);
  writer.message(1, from);
  writer.message(IMMEDIATE_RESPONSE, 0);
  return frame();
}

/** The translated request. `content-length` must equal the new body's length, or Envoy rejects it. */
export function forwardRequest(body: Buffer | "unchanged", headers: HeaderChanges): Reply {
  return common(REQUEST_BODY, { body, headers: withLength(body, headers), clearsRouteCache: true });
}

/** The request of one attempt, as an answer to its headers: its body never reaches this server, and is replaced. */
export function replaceRequest(body: Buffer | "unchanged", headers: HeaderChanges): Reply {
  return common(REQUEST_HEADERS, { body, headers, clearsRouteCache: true, replaces: body !== "unchanged" });
}

/** The headers of a response whose body never reaches this server. */
export function passResponse(headers: HeaderChanges): Reply {
  return common(RESPONSE_HEADERS, { body: "unchanged", headers });
}

/** The response is buffered: its body is the next message. */
export function awaitResponseBody(headers: HeaderChanges): Reply {
  return common(RESPONSE_HEADERS, { body: "unchanged", headers, mode: WHOLE });
}

/**
 * The same if Envoy has little room for it. A longer body arrives truncated, in a message that is not the last; in mode BUFFERED
 * Envoy would stop reading it at its limit, and wait for its end (docs/decisions/0034).
 */
export function awaitShortResponseBody(headers: HeaderChanges): Reply {
  return common(RESPONSE_HEADERS, { body: "unchanged", headers, mode: SHORT });
}

/**
 * The response is streamed: each chunk is a message from here on. Envoy keeps no chunk: only the bytes of `streamChunk` reach the
 * client, whenever they are sent.
 */
export function streamResponseBody(headers: HeaderChanges): Reply {
  return common(RESPONSE_HEADERS, { body: "unchanged", headers, mode: STREAMED });
}

/** A complete response body for the client; its headers can still be changed. */
export function finishResponse(body: Buffer | "unchanged", headers: HeaderChanges): Reply {
  return common(RESPONSE_BODY, { body, headers: withLength(body, headers) });
}

/** A complete body of a reply that Envoy made itself. */
export function passBody(): Reply {
  return PASS_UNCHANGED;
}

/**
 * Bytes of a streamed response for the client. Envoy accepts them at any time after the response's first chunk.
 * @param isEnd ends the response, regardless of what its model server still sends.
 */
export function streamChunk(bytes: Buffer, isEnd: boolean): Reply {
  const rest = bytes.length > COPIED_BYTES ? bytes : null;
  writer.start();
  // StreamedBodyResponse: `body` 1, `end_of_stream` 2. Of BodyMutation: `streamed_response` 3.
  if (rest !== null) writer.bytesBehind(1, rest.length);
  else if (bytes.length > 0) writer.bytes(1, bytes);
  if (isEnd) writer.varint(2, 1);
  writer.message(3, 0);
  writer.message(3, 0);
  writer.message(COMMON_RESPONSE, 0);
  writer.message(RESPONSE_BODY, 0);
  return frame(rest);
}

/** Ends a response without its model server's trailers: TrailersResponse, `header_mutation` 1. */
export function dropTrailers(names: readonly string[]): Reply {
  writer.start();
  writeMutation(1, { remove: names });
  writer.message(RESPONSE_TRAILERS, 0);
  return frame();
}

/** The same answer with metadata for Envoy's other filters and its tracer. */
export function withMetadata(reply: Reply, namespace: string, texts: Readonly<Record<string, string>>): Reply {
  writer.start();
  writeStruct(1, texts);
  // Of the Struct that metadata is: an entry whose Value is itself a Struct (`struct_value` 5).
  writer.message(5, 0);
  writer.message(2, 0);
  writer.text(1, namespace);
  writer.message(1, 0);
  writer.message(DYNAMIC_METADATA, 0);
  const { frame, rest } = reply;
  return framed(Buffer.concat([frame, ...(rest === null ? [] : [rest]), writer.finish(0)]), null);
}

/** Struct: `fields` 1, a map from names (1) to Values (2), of which `string_value` is 3. */
function writeStruct(field: number, texts: Readonly<Record<string, string>>): void {
  for (const name in texts) {
    const from = writer.length();
    writer.text(3, texts[name] ?? "");
    writer.message(2, from);
    writer.text(1, name);
    writer.message(field, from);
  }
}

interface Common {
  body: Buffer | "unchanged";
  headers: HeaderChanges;
  clearsRouteCache?: boolean;
  /** How Envoy hands over the body of the response. */
  mode?: Mode;
  /** The body is the complete new one, and Envoy sends none here. */
  replaces?: boolean;
}

const CONTINUE_AND_REPLACE = 1;

/** CommonResponse: `status` 1, `header_mutation` 2, `body_mutation` 3, `clear_route_cache` 5. Written from its end. */
function common(answered: number, change: Common): Reply {
  const { body, headers, clearsRouteCache = false, mode, replaces = false } = change;
  const rest = body !== "unchanged" && body.length > COPIED_BYTES ? body : null;
  writer.start();
  if (mode !== undefined) writeMode(mode);
  const from = writer.length();
  // Last in the message, so that it need not be moved.
  if (body !== "unchanged") writeBody(body, rest !== null);
  if (clearsRouteCache) writer.varint(5, 1);
  writeMutation(2, headers);
  if (replaces) writer.varint(1, CONTINUE_AND_REPLACE);
  writer.message(COMMON_RESPONSE, from);
  writer.message(answered, from);
  return frame(rest);
}

/** BodyMutation: `body` 1, `clear_body` 2. */
function writeBody(body: Buffer, isBehind: boolean): void {
  const from = writer.length();
  if (body.length === 0) writer.varint(2, 1);
  else if (isBehind) writer.bytesBehind(1, body.length);
  else writer.bytes(1, body);
  writer.message(3, from);
}

const SEND = 1;
const SKIP = 2;
const BUFFERED = 2;
const BUFFERED_PARTIAL = 3;
const FULL_DUPLEX_STREAMED = 4;

/**
 * ProcessingMode, in the order of its fields: header modes of request and response, body modes, trailer modes. Header
 * modes left at DEFAULT are ignored in an override, body modes never are: an unset one would mean NONE.
 */
const STREAMED: Mode = [SEND, SEND, BUFFERED, FULL_DUPLEX_STREAMED, SKIP, SEND];
const WHOLE: Mode = [SEND, SEND, BUFFERED, BUFFERED, SKIP, SEND];
const SHORT: Mode = [SEND, SEND, BUFFERED, BUFFERED_PARTIAL, SKIP, SEND];
type Mode = readonly number[];

function writeMode(mode: Mode): void {
  const from = writer.length();
  for (let index = mode.length - 1; index >= 0; index--) writer.varint(index + 1, mode[index] ?? 0);
  writer.message(MODE_OVERRIDE, from);
}

function withLength(body: Buffer | "unchanged", headers: HeaderChanges): HeaderChanges {
  if (body === "unchanged") return headers;
  return { ...headers, set: { ...headers.set, "content-length": String(body.length) } };
}

// The default action appends, which would keep a client's own value next to ours.
const OVERWRITE_IF_EXISTS_OR_ADD = 2;

/**
 * HeaderMutation: `set_headers` 1 (HeaderValueOption: `header` 1, `append_action` 3; HeaderValue: `key` 1, `raw_value` 3),
 * `remove_headers` 2.
 */
function writeMutation(field: number, { set = {}, remove = [] }: HeaderChanges): void {
  const from = writer.length();
  for (const name of remove) writer.text(2, name);
  for (const key in set) {
    const option = writer.length();
    writer.varint(3, OVERWRITE_IF_EXISTS_OR_ADD);
    const header = writer.length();
    writer.text(3, set[key] ?? "");
    writer.text(1, key);
    writer.message(1, header);
    writer.message(1, option);
  }
  if (writer.length() > from) writer.message(field, from);
}

function frame(rest: Buffer | null = null): Reply {
  return framed(writer.finish(FRAME_HEADER_BYTES), rest);
}

/** @param frame with room for its header in front. */
function framed(frame: Buffer, rest: Buffer | null): Reply {
  frame[0] = 0;
  frame.writeUInt32BE(frame.length - FRAME_HEADER_BYTES + (rest?.length ?? 0), 1);
  return { frame, rest };
}

// Each is always the same.
const CONTINUE_TO_BODY = common(REQUEST_HEADERS, { body: "unchanged", headers: {} });
const PASS_UNCHANGED = common(RESPONSE_BODY, { body: "unchanged", headers: {} });
