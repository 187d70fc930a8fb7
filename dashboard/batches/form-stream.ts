import { decodeExtended } from "content-disposition";
import { GatewayError } from "../../contract/errors.ts";

/** Where the content of one part goes. */
export interface PartSink {
  write(content: Buffer): Promise<void> | void;
  end(): Promise<void> | void;
}

export interface PartHeader {
  name: string;
  /** Of a file; null for other fields. */
  fileName: string | null;
}

const MAX_HEADER_BYTES = 8 * 1024;
const MAX_PARTS = 20;
const END = Buffer.from("--");
const LINE_END = Buffer.from("\r\n");

/** The boundary that a content type names. @throws GatewayError `invalid_request` without one. */
export function boundaryOf(contentType: string | undefined): string {
  const match = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70})(?=[\s;]|$))/i.exec(
    contentType ?? "",
  );
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined)
    throw new GatewayError("invalid_request", "Send the file as multipart/form-data, with a boundary in the content type.");
  return boundary;
}

/**
 * Reads a form as it arrives, in the order of its parts: no more of it is in memory than a piece, whatever the length of a part.
 * @throws GatewayError `invalid_request` for anything but a complete form.
 */
export async function readFormStream(
  pieces: AsyncIterable<Buffer>,
  { boundary, onPart }: { boundary: string; onPart: (header: PartHeader) => PartSink },
): Promise<void> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first boundary has no line before it.
  let rest: Buffer = LINE_END;
  let sink: PartSink | null = null;
  let isInHeader = false;
  let hasEnded = false;
  let parts = 0;

  /** @returns whether it made progress. */
  async function step(): Promise<boolean> {
    if (isInHeader) {
      if (rest.length < 2) return false;
      if (rest.subarray(0, 2).equals(END)) {
        hasEnded = true;
        return false;
      }
      const end = rest.indexOf("\r\n\r\n");
      if (end > MAX_HEADER_BYTES || (end < 0 && rest.length > MAX_HEADER_BYTES)) throw broken();
      if (end < 0) return false;
      if (++parts > MAX_PARTS) throw new GatewayError("invalid_request", `A form may have at most ${MAX_PARTS} fields.`);
      sink = onPart(readHeader(rest.subarray(0, end).toString("utf8")));
      rest = rest.subarray(end + 4);
      isInHeader = false;
      return true;
    }
    const at = rest.indexOf(delimiter);
    const content = at < 0 ? rest.subarray(0, Math.max(0, rest.length - delimiter.length + 1)) : rest.subarray(0, at);
    if (content.length > 0) {
      // Before the first boundary there may be a text for people.
      await sink?.write(content);
      rest = rest.subarray(content.length);
    }
    if (at < 0) return false;
    await sink?.end();
    sink = null;
    rest = rest.subarray(delimiter.length);
    isInHeader = true;
    return true;
  }

  for await (const piece of pieces) {
    // After the last boundary there may be another text for people, of any length.
    if (hasEnded) continue;
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    while (await step());
  }
  if (!hasEnded) throw broken();
}

function readHeader(text: string): PartHeader {
  const line = text.split("\r\n").find((each) => /^content-disposition\s*:/i.test(each)) ?? "";
  const name = parameterOf(line, "name");
  if (name === undefined) throw broken();
  return { name, fileName: fileNameOf(line) ?? null };
}

/** Some clients send it in two forms, of which `filename*` has all letters (RFC 8187). */
function fileNameOf(line: string): string | undefined {
  const extended = parameterOf(line, "filename\\*");
  return (extended === undefined ? undefined : decodeExtended(extended)) ?? parameterOf(line, "filename");
}

function parameterOf(line: string, name: string): string | undefined {
  const quoted = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(line)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(["\\])|%(22|0D|0A)/gi, unescape);
  return new RegExp(`;\\s*${name}=([^\\s;"]+)`, "i").exec(line)?.[1];
}

/** Browsers and most libraries escape quotes and line breaks with percent signs, and nothing else; others use backslashes. */
function unescape(_escape: string, character: string | undefined, hexadecimal: string): string {
  return character ?? String.fromCodePoint(Number.parseInt(hexadecimal, 16));
}

function broken(): GatewayError {
  return new GatewayError("invalid_request", "The form is not valid multipart/form-data, or is incomplete.");
}
