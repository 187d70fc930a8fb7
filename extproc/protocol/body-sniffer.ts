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
      const first = chunk[countLead(chunk)];
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

/** Bytes of white space and of a byte order mark before a body. A plain loop: a body may be 30 MiB of them. */
export function countLead(bytes: Buffer): number {
  let at = 0;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const isSpace = byte === 32 || byte === 10 || byte === 13 || byte === 9;
    if (!isSpace && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) break;
  }
  return at;
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
  const first = body[countLead(body)];
  if (first === undefined || first === OPEN_BRACE) return null;
  const parser = createSseParser();
  const events = [...parser.push(body), ...parser.end()];
  return events.length === 0 ? null : events;
}
