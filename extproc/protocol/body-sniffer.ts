import { GatewayError } from "../../contract/errors.ts";
import { createSseParser, MAX_EVENT_BYTES, type SseEvent } from "./sse.ts";

/** Distinguishes a JSON body from a stream of events by its first byte: servers that can't stream answer in JSON. */
export interface BodySniffer {
  /**
   * The bytes that belong to a stream of events: none while it is undecided or JSON.
   * @throws GatewayError `upstream_error` if a JSON body is larger than 32 MiB.
   */
  push(chunk: Buffer): Buffer;
  /** The complete JSON text; null for anything else. */
  json(): string | null;
  /** Of a JSON body, so far. */
  heldBytes(): number;
}

const OPEN_BRACE = 123;
/** White space and the bytes of a byte order mark, which may precede either. */
const BEFORE = new Set([9, 10, 13, 32, 0xef, 0xbb, 0xbf]);
const MARK = Buffer.from("\u{FEFF}");
const NOTHING = Buffer.alloc(0);

export function createBodySniffer(): BodySniffer {
  let kind: "undecided" | "json" | "events" = "undecided";
  let held: Buffer[] = [];
  let heldBytes = 0;

  function hold(chunk: Buffer): Buffer {
    held.push(Buffer.from(chunk));
    heldBytes += chunk.length;
    if (heldBytes > MAX_EVENT_BYTES) throw new GatewayError("upstream_error", "The model server's answer is too large.");
    return NOTHING;
  }

  return {
    push(chunk) {
      if (kind === "events") return chunk;
      if (kind === "json") return hold(chunk);
      const first = chunk.find((byte) => !BEFORE.has(byte));
      if (first === undefined) return hold(chunk);
      kind = first === OPEN_BRACE ? "json" : "events";
      if (kind === "json") return hold(chunk);
      const all = Buffer.concat([...held, chunk]);
      held = [];
      heldBytes = 0;
      return all;
    },
    heldBytes: () => heldBytes,
    json: () =>
      kind === "json"
        ? Buffer.concat(held)
            .toString("utf8")
            .replace(/^\uFEFF/, "")
        : null,
  };
}

/** Bytes of white space and of a byte order mark before a body. */
export function countLead(bytes: Buffer): number {
  const first = bytes.findIndex((byte) => !BEFORE.has(byte));
  return first < 0 ? bytes.length : first;
}

/** Without its byte order mark, which JSON does not allow; the same bytes if there is none. */
export function withoutMark(body: Buffer): Buffer {
  return body.subarray(0, MARK.length).equals(MARK) ? body.subarray(MARK.length) : body;
}

/**
 * The events of a body that is a stream although JSON was requested; null if it is not.
 * @throws GatewayError `upstream_error` if one event is larger than 32 MiB.
 */
export function eventsInBody(body: Buffer): SseEvent[] | null {
  const first = body.find((byte) => !BEFORE.has(byte));
  if (first === undefined || first === OPEN_BRACE) return null;
  const parser = createSseParser();
  const events = [...parser.push(body), ...parser.end()];
  return events.length === 0 ? null : events;
}
