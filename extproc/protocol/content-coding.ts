import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { GatewayError } from "../../contract/errors.ts";
import { MAX_EVENT_BYTES } from "./sse.ts";

/** Codings of unrequested compression that Node.js decodes. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflate],
  ["br", brotliDecompressSync],
  ["zstd", (body, limits) => zstdDecompressSync(body, limits)],
]);

type Decode = (body: Buffer, limits: Limits) => Buffer;

interface Limits {
  maxOutputLength: number;
}

/** The bound for an uncompressed body, so that a small body cannot decode to gigabytes. */
const LIMITS: Limits = { maxOutputLength: MAX_EVENT_BYTES };

const NOTHING = Buffer.alloc(0);

/** Some servers take the header for that of the charset. */
const NO_CODINGS: ReadonlySet<string> = new Set(["", "identity", "none", "utf-8", "utf8"]);

/** In lower case; null if the body is not compressed. */
export function contentCoding(headers: ReadonlyMap<string, string>): string | null {
  const coding = (headers.get("content-encoding") ?? "").trim().toLowerCase();
  return NO_CODINGS.has(coding) ? null : coding;
}

export function isDecodable(coding: string): boolean {
  return DECODERS.has(coding);
}

/** @throws GatewayError `upstream_error` for a body that is not in this coding, or too large. */
export function decodeContent(body: Buffer, coding: string): Buffer {
  const decode = DECODERS.get(coding);
  if (decode === undefined) throw undecodable(coding);
  try {
    return decode(body, LIMITS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server's compressed answer could not be read.", { cause });
  }
}

/** The same, but empty for a body that cannot be decoded. @param coding null if the body is not compressed. */
export function decodeIfPossible(body: Buffer, coding: string | null): Buffer {
  if (coding === null || body.length === 0) return body;
  try {
    return decodeContent(body, coding);
  } catch {
    return NOTHING;
  }
}

/** For streams, and codings that Node.js does not decode. */
export function undecodable(coding: string): GatewayError {
  return new GatewayError(
    "upstream_error",
    "The model server sent a compressed answer, although the gateway asked for an uncompressed one.",
    {
      cause: new Error(`content-encoding: ${coding.slice(0, 64)}`),
    },
  );
}

/** Some servers omit the zlib header that RFC 9110 requires. */
function inflate(body: Buffer, limits: Limits): Buffer {
  const hasHeader = body.length >= 2 && (body.readUInt8(0) & 0x0f) === 8 && body.readUInt16BE(0) % 31 === 0;
  return hasHeader ? inflateSync(body, limits) : inflateRawSync(body, limits);
}
