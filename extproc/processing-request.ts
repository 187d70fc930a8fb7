import { createReader } from "./wire/reader.ts";

/** One message from Envoy (envoy.service.ext_proc.v3.ProcessingRequest), with only the fields used here. */
export type ProcessingRequest =
  | { kind: "requestHeaders" | "responseHeaders"; headers: ReadonlyMap<string, string>; isEnd: boolean; details: string | null }
  /** The body shares memory with the message. */
  | { kind: "requestBody" | "responseBody"; body: Buffer; isEnd: boolean }
  /** They end a response; only their names are read. */
  | { kind: "responseTrailers"; names: readonly string[] }
  /** A message of a later Envoy. */
  | { kind: "other" };

const REQUEST_HEADERS = 2;
const RESPONSE_HEADERS = 3;
const REQUEST_BODY = 4;
const RESPONSE_BODY = 5;
const RESPONSE_TRAILERS = 7;
const ATTRIBUTES = 9;

const FILTER = "envoy.filters.http.ext_proc";
const CODE_DETAILS = "response.code_details";
const NOTHING = Buffer.alloc(0);

/**
 * Reads messages one after the other without creating objects for unused fields. The numbers are the schema's
 * (test/unit/extproc/ext-proc-wire.test.ts compares them).
 */
export function createProcessingRequestReader(): (message: Buffer) => ProcessingRequest {
  const fields = createReader();
  const content = createReader();
  const map = createReader();
  const entry = createReader();
  let bytes: Buffer = NOTHING;

  function read(message: Buffer): ProcessingRequest {
    bytes = message;
    let details: string | null = null;
    let found: ProcessingRequest = { kind: "other" };
    fields.enter(message, 0, message.length);
    while (fields.next()) {
      if (fields.field === REQUEST_HEADERS) found = readHeaders("requestHeaders");
      else if (fields.field === RESPONSE_HEADERS) found = readHeaders("responseHeaders");
      else if (fields.field === REQUEST_BODY) found = readBody("requestBody");
      else if (fields.field === RESPONSE_BODY) found = readBody("responseBody");
      else if (fields.field === RESPONSE_TRAILERS) found = readTrailers();
      else if (fields.field === ATTRIBUTES) details = readCodeDetails() ?? details;
    }
    bytes = NOTHING;
    return details !== null && "details" in found ? { ...found, details } : found;
  }

  /** HttpHeaders: `headers` (a HeaderMap: `headers` 1) 1, `end_of_stream` 3. */
  function readHeaders(kind: "requestHeaders" | "responseHeaders"): ProcessingRequest {
    const headers = new Map<string, string>();
    let isEnd = false;
    content.enter(bytes, fields.start, fields.end);
    while (content.next()) {
      if (content.field === 3) isEnd = content.varint !== 0;
      if (content.field !== 1) continue;
      map.enter(bytes, content.start, content.end);
      while (map.next()) if (map.field === 1) readHeader(headers);
    }
    return { kind, headers, isEnd, details: null };
  }

  /** HttpTrailers: `trailers` (a HeaderMap: `headers` 1) 1. */
  function readTrailers(): ProcessingRequest {
    const trailers = new Map<string, string>();
    content.enter(bytes, fields.start, fields.end);
    while (content.next()) {
      if (content.field !== 1) continue;
      map.enter(bytes, content.start, content.end);
      while (map.next()) if (map.field === 1) readHeader(trailers);
    }
    return { kind: "responseTrailers", names: [...trailers.keys()] };
  }

  /** HeaderValue: `key` 1, `value` 2, `raw_value` 3, which Envoy uses. */
  function readHeader(headers: Map<string, string>): void {
    let key = "";
    let value = "";
    entry.enter(bytes, map.start, map.end);
    while (entry.next()) {
      if (entry.field === 1) key = bytes.toString("latin1", entry.start, entry.end);
      else if (entry.end > entry.start) value = bytes.toString("latin1", entry.start, entry.end);
    }
    const earlier = headers.get(key);
    // A repeated header is read as one list, so that a second credential cannot hide behind the first.
    headers.set(key, earlier === undefined ? value : `${earlier}, ${value}`);
  }

  /** HttpBody: `body` 1, `end_of_stream` 2. */
  function readBody(kind: "requestBody" | "responseBody"): ProcessingRequest {
    let body: Buffer = NOTHING;
    let isEnd = false;
    content.enter(bytes, fields.start, fields.end);
    while (content.next()) {
      if (content.field === 1) body = bytes.subarray(content.start, content.end);
      else if (content.field === 2) isEnd = content.varint !== 0;
    }
    return { kind, body, isEnd };
  }

  /** Entry of a map from filter names to Structs: key 1, value 2. Of a Struct: `fields` 1, a map from names to Values. */
  function readCodeDetails(): string | null {
    const filter = readEntry(fields.start, fields.end);
    if (filter?.key !== FILTER) return null;
    content.enter(bytes, filter.start, filter.end);
    while (content.next()) {
      const attribute = content.field === 1 ? readEntry(content.start, content.end) : null;
      if (attribute?.key !== CODE_DETAILS) continue;
      map.enter(bytes, attribute.start, attribute.end);
      // Value: `string_value` 3.
      while (map.next()) if (map.field === 3) return bytes.toString("utf8", map.start, map.end);
    }
    return null;
  }

  function readEntry(start: number, end: number): { key: string; start: number; end: number } | null {
    let key = "";
    let value: { start: number; end: number } | null = null;
    entry.enter(bytes, start, end);
    while (entry.next()) {
      if (entry.field === 1) key = bytes.toString("utf8", entry.start, entry.end);
      else if (entry.field === 2) value = { start: entry.start, end: entry.end };
    }
    return value === null ? null : { key, ...value };
  }

  return read;
}
