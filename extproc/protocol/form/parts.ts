import { malformed } from "./malformed.ts";
import { readPartHeader, type PartHeader } from "./part-header.ts";

/** A part of a form; its bytes share memory with the body. */
export interface Part extends PartHeader {
  /** In the body. */
  readonly start: number;
  readonly end: number;
}

const MAX_PARTS = 256;
const MAX_HEADER_BYTES = 4 * 1024;
const HEADER_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");
const LAST = Buffer.from("--");

/**
 * The parts of a form that has arrived whole. Native searches find the boundaries: a file's bytes are not looked at one by one.
 * Servers differ in what they forgive, so that nothing is forgiven here: text around the form, line breaks without a carriage
 * return, a boundary that goes on.
 * @throws GatewayError `invalid_request` that says what is wrong.
 */
export function partsOf(body: Buffer, boundary: string): Part[] {
  const opening = Buffer.from(`--${boundary}`);
  if (!startsWith(body, opening, 0)) throw malformed("does not begin with its boundary");
  const parts: Part[] = [];
  for (let at = opening.length; ;) {
    if (startsWith(body, LAST, at)) {
      checkEnd(body, at + LAST.length);
      return parts;
    }
    if (at >= body.length) throw malformed("ends before its last boundary");
    if (!startsWith(body, LINE_END, at)) throw malformed("has its boundary inside a part");
    if (parts.length === MAX_PARTS) throw malformed(`has more than ${MAX_PARTS} parts`);
    const part = readPart(body, at + LINE_END.length, opening);
    parts.push(part);
    at = part.end + LINE_END.length + opening.length;
  }
}

/** @param opening the boundary as it stands at the beginning of a line. */
function readPart(body: Buffer, from: number, opening: Buffer): Part {
  const headerEnd = body.subarray(from, from + MAX_HEADER_BYTES + HEADER_END.length).indexOf(HEADER_END);
  if (headerEnd < 0) {
    if (body.length - from > MAX_HEADER_BYTES) throw malformed(`has a part with a header of more than ${MAX_HEADER_BYTES} bytes`);
    throw malformed("ends inside the header of a part");
  }
  const header = readPartHeader(body.toString("latin1", from, from + headerEnd));
  const start = from + headerEnd + HEADER_END.length;
  const found = body.indexOf(opening, start);
  if (found < 0) throw malformed(`ends inside \`${header.name}\``);
  const end = found - LINE_END.length;
  // An empty part has a line break of its own; for some servers the header's is enough, and for others half of one.
  if (end < start || !startsWith(body, LINE_END, end)) throw malformed(`has its boundary inside \`${header.name}\``);
  return { ...header, start, end };
}

/** Most clients end the last line. */
function checkEnd(body: Buffer, at: number): void {
  if (at === body.length || (at + LINE_END.length === body.length && startsWith(body, LINE_END, at))) return;
  throw malformed("has text after its last boundary");
}

function startsWith(body: Buffer, beginning: Buffer, at: number): boolean {
  return body.length >= at + beginning.length && body.compare(beginning, 0, beginning.length, at, at + beginning.length) === 0;
}
