/**
 * Walks the fields of one protobuf message in place: only requested fields are decoded. It serves one message after the other; a
 * nested message takes a second Reader.
 */
export interface Reader {
  /** Moves to the start of a message. */
  enter(bytes: Buffer, from: number, to: number): void;
  /** Number of the field that `next` reached. */
  readonly field: number;
  /** Moves to the next field. False at the message's end. */
  next(): boolean;
  /** Value of a varint field; 0 if it is of another kind. */
  readonly varint: number;
  /** Bounds of a length-delimited field; empty if it is of another kind. */
  readonly start: number;
  readonly end: number;
}

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

/** @throws Error (from `next`) for bytes that are not a protobuf message. */
export function createReader(): Reader {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  let to = 0;
  let field = 0;
  let varint = 0;
  let start = 0;
  let end = 0;

  function readVarint(): number {
    const first = bytes[at++] ?? 0;
    if (first < 0x80) return first;
    let value = first & 0x7f;
    let factor = 0x80;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || at > to) throw new Error("a protobuf message ends inside a number");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  }

  function next(): boolean {
    if (at >= to) return false;
    const tag = readVarint();
    field = Math.floor(tag / 8);
    varint = 0;
    switch (tag % 8) {
      case VARINT:
        varint = readVarint();
        break;
      case FIXED_64:
        at += 8;
        break;
      case FIXED_32:
        at += 4;
        break;
      case LENGTH_DELIMITED: {
        const length = readVarint();
        start = at;
        end = at + length;
        at = end;
        break;
      }
      default:
        throw new Error("a protobuf message has a field of an unknown kind");
    }
    if (at > to) throw new Error("a protobuf message ends inside a field");
    if (tag % 8 !== LENGTH_DELIMITED) start = end = at;
    return true;
  }

  return {
    enter(message, start, end) {
      bytes = message;
      at = start;
      to = end;
    },
    next,
    get field() {
      return field;
    },
    get varint() {
      return varint;
    },
    get start() {
      return start;
    },
    get end() {
      return end;
    },
  };
}
