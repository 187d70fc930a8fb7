import { GatewayError } from "../../contract/errors.ts";

/** Splits `{"requests": [{…}, {…}]}` into its elements as it arrives: the whole is never in memory, or parsed at once. */
export interface ElementStream {
  /** @returns elements that end in this piece. */
  push(piece: Buffer): Buffer[];
  /** @throws GatewayError `invalid_request` if the list is not complete. */
  end(): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;

const HEAD = /^\s*\{\s*"requests"\s*:\s*\[$/;
const MAX_HEAD_BYTES = 4_096;

/** @throws GatewayError `invalid_request` for another body, or an element longer than `maxElementBytes`. */
export function createElementStream({ maxElementBytes }: { maxElementBytes: number }): ElementStream {
  let phase: "head" | "before element" | "element" | "after element" | "tail" = "head";
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let elements = 0;
  let hasClosed = false;

  function keep(bytes: Buffer, max: number): void {
    keptBytes += bytes.length;
    if (keptBytes > max) {
      if (phase === "head") throw notAList();
      throw new GatewayError(
        "invalid_request",
        `requests[${elements}] is longer than ${maxElementBytes / 1024 / 1024} MiB. Send this request outside a batch.`,
        { field: `requests[${elements}]` },
      );
    }
    if (bytes.length > 0) kept.push(bytes);
  }

  function take(): Buffer {
    const whole = Buffer.concat(kept);
    kept = [];
    keptBytes = 0;
    return whole;
  }

  /** @returns the position after the head, or the end of the piece. */
  function readHead(piece: Buffer, from: number): number {
    const bracket = piece.indexOf(OPEN_BRACKET, from);
    const end = bracket < 0 ? piece.length : bracket + 1;
    keep(piece.subarray(from, end), MAX_HEAD_BYTES);
    if (bracket < 0) return end;
    if (!HEAD.test(take().toString("utf8"))) throw notAList();
    phase = "before element";
    return end;
  }

  /** @returns the position after the element, or the end of the piece. */
  function readElement(piece: Buffer, from: number): number {
    for (let at = from; at < piece.length; at++) {
      const byte = piece[at];
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
      } else if (byte === QUOTE) isInString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
        keep(piece.subarray(from, at + 1), maxElementBytes);
        phase = "after element";
        elements++;
        return at + 1;
      }
    }
    keep(piece.subarray(from), maxElementBytes);
    return piece.length;
  }

  function readBetween(piece: Buffer, at: number): number {
    const byte = piece[at];
    if (isSpace(byte)) return at + 1;
    if (byte === OPEN_BRACE && phase === "before element") {
      phase = "element";
      return at;
    }
    if (byte === COMMA && phase === "after element") {
      phase = "before element";
      hasClosed = false;
      return at + 1;
    }
    if (byte === CLOSE_BRACKET && (phase === "after element" || elements === 0)) {
      phase = "tail";
      return at + 1;
    }
    throw notAList();
  }

  function readTail(piece: Buffer, at: number): number {
    const byte = piece[at];
    if (byte === CLOSE_BRACE && !hasClosed) hasClosed = true;
    else if (!isSpace(byte)) throw notAList();
    return at + 1;
  }

  return {
    push(piece) {
      const found: Buffer[] = [];
      for (let at = 0; at < piece.length;) {
        switch (phase) {
          case "head":
            at = readHead(piece, at);
            break;
          case "element": {
            const before = elements;
            at = readElement(piece, at);
            if (elements > before) found.push(take());
            break;
          }
          case "tail":
            at = readTail(piece, at);
            break;
          case "before element":
          case "after element":
            at = readBetween(piece, at);
        }
      }
      return found;
    },
    end() {
      if (phase !== "tail" || !hasClosed) throw notAList();
    },
  };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function notAList(): GatewayError {
  return new GatewayError(
    "invalid_request",
    'The body must be JSON of the form {"requests": [{"custom_id": "…", "params": {…}}]}, without other fields.',
    { field: "requests" },
  );
}
