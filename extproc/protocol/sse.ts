import { GatewayError } from "../../contract/errors.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import { EVENT_BOUNDS, parseWithin } from "./json/bounds.ts";

/**
 * One dispatched server-sent event. Offsets count bytes from the start of the stream; `start` … `end` is the
 * whole block with its blank line (without the LF of a CR LF that ends the blank line).
 */
export interface SseEvent {
  /** The `event:` field; null if there is none. */
  readonly event: string | null;
  /** All `data:` lines, joined by LF; empty only where `reportsEmpty` asks for such events. */
  readonly data: string;
  readonly start: number;
  readonly end: number;
  /** Range of the value of the only `data:` line; null if the data spans several lines. */
  readonly dataRange: { readonly start: number; readonly end: number } | null;
}

export interface SseParser {
  /**
   * Events that this chunk completes, in order. The chunk itself is not retained, only copies.
   * @throws GatewayError `upstream_error` when one event is larger than 32 MiB, or a chunk has more events or lines than any answer.
   */
  push(chunk: Buffer): SseEvent[];
  /** Bytes that another reader has consumed as whole events. Only when everything pushed is settled. */
  skip(bytes: number): void;
  /** The last event if the stream ended without a blank line, provided that its data is complete (JSON or `[DONE]`). */
  end(): SseEvent[];
  /** Bytes before this offset belong to finished blocks: events, or comments closed by a blank line. */
  settled(): number;
  /** Comment lines seen (`: keep-alive`). */
  comments(): number;
  /**
   * Bytes of lines that are neither data nor an event's one short, known name: comments, ids, fields that the format does not
   * have.
   */
  otherBytes(): number;
}

interface Block {
  start: number;
  hasFields: boolean;
  event: string | null;
  data: string[];
  dataRange: { start: number; end: number } | null;
}

/** Event names: protocols have a dozen short ones. */
const MAX_NAME_LENGTH = 64;
const MAX_NAMES = 16;

export const MAX_EVENT_BYTES = 32 * 1024 * 1024;
/** Chunks of a stream hold fewer. A complete stream is read at once if JSON was requested, and each event costs time. */
const MAX_EVENTS = 65_536;
/** Of one chunk, or of one event: each costs time and memory, however short it is. */
const MAX_LINES = 4 * MAX_EVENTS;

/** Comments, ids and fields that the format does not have are not metered, so a stream may pass only this much of them. */
export const MAX_UNCOUNTED_BYTES = 4 * 1024;

const LF = 10;
const CR = 13;
const COLON = 58;
const BYTE_ORDER_MARK = "\u{FEFF}";
const BYTE_ORDER_MARK_BYTES = 3;

/**
 * Reads server-sent events from bytes cut anywhere: inside a UTF-8 sequence, between CR and LF, byte by byte. Line ends are found
 * in bytes, and a line is decoded once, when it is complete, so the work is linear.
 * @param options `reportsEmpty` for blocks of fields without data too: SDKs read such an event, and throw at its data.
 */
export function createSseParser({ reportsEmpty = false }: { reportsEmpty?: boolean } = {}): SseParser {
  const line = createByteBuffer();
  let offset = 0;
  let settled = 0;
  let comments = 0;
  let otherBytes = 0;
  const names = new Set<string>();
  let isAfterCarriageReturn = false;
  let block = emptyBlock(0);

  function push(chunk: Buffer): SseEvent[] {
    const events: SseEvent[] = [];
    let at = skipPairedLineFeed(chunk);
    // Each search continues from the last hit, so a chunk without CR is searched for it once.
    let lines = 0;
    let nextLf = indexOrEnd(chunk, LF, at);
    let nextCr = indexOrEnd(chunk, CR, at);
    while (at < chunk.length) {
      if (offset + at === block.start) at = skipBlankLines(chunk, at);
      if (at === chunk.length) break;
      if (nextLf < at) nextLf = indexOrEnd(chunk, LF, at);
      if (nextCr < at) nextCr = indexOrEnd(chunk, CR, at);
      const lineEnd = Math.min(nextLf, nextCr);
      checkSize(offset + lineEnd - block.start);
      if (lineEnd === chunk.length) {
        line.append(chunk, at, lineEnd);
        break;
      }
      lines += 1;
      if (lines > MAX_LINES) throw tooManyLines();
      const event = endLine(chunk, at, lineEnd);
      if (event !== null) addEvent(events, event);
      at = lineEnd + 1;
      const isCarriageReturn = lineEnd === nextCr;
      if (isCarriageReturn && chunk[at] === LF) at = skipLineFeed(at, offset);
      // Only a CR that is the chunk's last byte can have its LF in the next one.
      else isAfterCarriageReturn = isCarriageReturn && at === chunk.length;
    }
    offset += chunk.length;
    return events;
  }

  /** Blank lines between blocks end nothing: a flood of them costs no more than reading its bytes. */
  function skipBlankLines(chunk: Buffer, from: number): number {
    let at = from;
    while (chunk[at] === LF || chunk[at] === CR) at += 1;
    if (at === from) return at;
    block.start = offset + at;
    settled = block.start;
    isAfterCarriageReturn = at === chunk.length && chunk[at - 1] === CR;
    return at;
  }

  /** A CR ended the last chunk: an LF at the start of this one belongs to it. */
  function skipPairedLineFeed(chunk: Buffer): number {
    if (!isAfterCarriageReturn || chunk.length === 0) return 0;
    if (chunk[0] === LF) return skipLineFeed(0, offset);
    isAfterCarriageReturn = false;
    return 0;
  }

  function skipLineFeed(at: number, chunkOffset: number): number {
    isAfterCarriageReturn = false;
    const lineFeed = chunkOffset + at;
    if (settled === lineFeed) settled += 1;
    if (block.start === lineFeed) block.start += 1;
    return at + 1;
  }

  /** @returns the event completed by the line whose rest is this part of the chunk. */
  function endLine(chunk: Buffer, at: number, lineEnd: number): SseEvent | null {
    const lineStart = offset + at - line.length();
    if (line.length() === 0 && chunk[at] === COLON) {
      comments += 1;
      otherBytes += lineEnd + 1 - at;
      return null;
    }
    // Most lines arrive whole, and are not copied.
    if (line.length() === 0) return decodeLine(chunk.toString("utf8", at, lineEnd), lineStart, offset + lineEnd);
    line.append(chunk, at, lineEnd);
    return decodeLine(takeLine(), lineStart, offset + lineEnd);
  }

  function takeLine(): string {
    const text = line.view().toString("utf8");
    line.drop(line.length());
    return text;
  }

  function decodeLine(text: string, lineStart: number, lineEnd: number): SseEvent | null {
    const isMarked = lineStart === 0 && text.startsWith(BYTE_ORDER_MARK);
    if (isMarked) return readLine(text.slice(1), lineStart + BYTE_ORDER_MARK_BYTES, lineEnd);
    return readLine(text, lineStart, lineEnd);
  }

  function readLine(text: string, lineStart: number, lineEnd: number): SseEvent | null {
    if (text === "") return endBlock(lineEnd + 1);
    const colon = text.indexOf(":");
    if (colon === 0) {
      comments += 1;
      otherBytes += lineEnd + 1 - lineStart;
      return null;
    }
    block.hasFields = true;
    const name = colon < 0 ? text : text.slice(0, colon);
    const valueAt = colon < 0 ? text.length : text[colon + 1] === " " ? colon + 2 : colon + 1;
    const isName = name === "event" && isEventName(text.slice(valueAt));
    if (name !== "data" && !(isName && block.event === null)) otherBytes += lineEnd + 1 - lineStart;
    if (isName) block.event = text.slice(valueAt);
    if (name === "data") {
      if (block.data.length === MAX_LINES) throw tooManyLines();
      block.data.push(text.slice(valueAt));
      // The name and the colon are ASCII, so characters before the value are bytes.
      block.dataRange = block.data.length === 1 ? { start: lineStart + valueAt, end: lineEnd } : null;
    }
    return null;
  }

  function isEventName(name: string): boolean {
    if (names.has(name)) return true;
    if (name.length > MAX_NAME_LENGTH || names.size === MAX_NAMES) return false;
    names.add(name);
    return true;
  }

  function endBlock(end: number): SseEvent | null {
    const { start, hasFields, event, data, dataRange } = block;
    block = emptyBlock(end);
    settled = end;
    const joined = data.join("\n");
    // The format's rule: without data nothing is dispatched, whatever `event:` held.
    if (joined === "" && !(reportsEmpty && hasFields)) return null;
    return { event: event === "" ? null : event, data: joined, start, end, dataRange };
  }

  function end(): SseEvent[] {
    const finished = settled;
    const lineStart = offset - line.length();
    if (line.length() > 0) decodeLine(takeLine(), lineStart, offset);
    const event = endBlock(offset);
    if (event !== null && isWhole(event.data)) return [event];
    settled = finished;
    return [];
  }

  return {
    push,
    skip(bytes) {
      offset += bytes;
      settled = offset;
      block = emptyBlock(offset);
      isAfterCarriageReturn = false;
    },
    end,
    settled: () => settled,
    comments: () => comments,
    otherBytes: () => otherBytes,
  };
}

/** One event as bytes on the wire; data that holds line breaks becomes several `data:` lines. */
export function encodeSseEvent(event: string | null, data: string): string {
  const name = event === null ? "" : `event: ${event}\n`;
  return `${name}data: ${data.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}

/** Everything after the first blank line, or everything if there is none. */
export function endOfEvent(chunk: Buffer): number {
  const blank = chunk.indexOf("\n\n");
  return blank < 0 ? chunk.length : blank + 2;
}

function emptyBlock(start: number): Block {
  return { start, hasFields: false, event: null, data: [], dataRange: null };
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from);
  return index < 0 ? chunk.length : index;
}

function checkSize(bytes: number): void {
  if (bytes <= MAX_EVENT_BYTES) return;
  throw new GatewayError("upstream_error", "The model server sent one event of more than 32 MiB.");
}

function tooManyLines(): GatewayError {
  return new GatewayError("upstream_error", `The model server's answer has more than ${MAX_LINES} lines at once.`);
}

function addEvent(events: SseEvent[], event: SseEvent): void {
  if (events.length === MAX_EVENTS)
    throw new GatewayError("upstream_error", `The model server's answer has more than ${MAX_EVENTS} events.`);
  events.push(event);
}

/** Many servers omit the last blank line; half an event must not pass for a whole one. */
function isWhole(data: string): boolean {
  if (data.trim() === "[DONE]") return true;
  try {
    parseWithin(data, EVENT_BOUNDS);
    return true;
  } catch {
    return false;
  }
}
