/**
 * Writes protobuf fields from the last to the first, so that a message's length is known when its header is due and
 * nothing is measured or copied twice.
 */
export interface Writer {
  /** Begins a message; the previous one must be finished. */
  start(): void;
  /** Offset from the end of everything written: a message's length is the difference of two. */
  length(): number;
  text(field: number, value: string): void;
  bytes(field: number, value: Uint8Array): void;
  /** A value after everything written, so that it need not be copied. It has to come first. */
  bytesBehind(field: number, length: number): void;
  /** Also bools and enums. */
  varint(field: number, value: number): void;
  /** Closes a message whose content has been written since `length` was `from`. */
  message(field: number, from: number): void;
  /** A copy of everything written, with `headerBytes` free bytes in front. */
  finish(headerBytes: number): Buffer;
}

/** Most messages fit; a larger one has a buffer of its own while it is written. */
const KEPT_BYTES = 16 * 1024;
const MAX_BYTES_A_CHARACTER = 3;
const MAX_HEADER_BYTES = 12;
/** Node's own copy is faster from here on. */
const LONG_TEXT = 48;

const LENGTH_DELIMITED = 2;
const VARINT = 0;

/** It writes one message after the other into the same memory: a writer per message would cost more than the message. */
export function createWriter(): Writer {
  const kept = Buffer.alloc(KEPT_BYTES);
  let buffer = kept;
  let at = buffer.length;
  let behind = 0;

  function reserve(bytes: number): void {
    if (at >= bytes) return;
    const used = buffer.length - at;
    const grown = Buffer.allocUnsafe(2 * buffer.length + bytes);
    buffer.copy(grown, grown.length - used, at);
    buffer = grown;
    at = grown.length - used;
  }

  /** A varint's first byte is its lowest, so its length is needed first. */
  function putVarint(value: number): void {
    if (value < 0x80) {
      buffer[--at] = value;
      return;
    }
    let size = 1;
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
    at -= size;
    let rest = value;
    for (let index = at; index < at + size - 1; index++) {
      buffer[index] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    buffer[at + size - 1] = rest;
  }

  function putHeader(field: number, length: number): void {
    putVarint(length);
    putVarint(field * 8 + LENGTH_DELIMITED);
  }

  function length(): number {
    return buffer.length - at + behind;
  }

  return {
    start() {
      buffer = kept;
      at = buffer.length;
      behind = 0;
    },
    length,
    text(field, value) {
      reserve(value.length * MAX_BYTES_A_CHARACTER + MAX_HEADER_BYTES);
      const end = at;
      if (!putAscii(value)) {
        at = end;
        const size = Buffer.byteLength(value);
        at -= size;
        buffer.write(value, at);
      }
      putHeader(field, end - at);
    },
    bytes(field, value) {
      reserve(value.length + MAX_HEADER_BYTES);
      at -= value.length;
      buffer.set(value, at);
      putHeader(field, value.length);
    },
    bytesBehind(field, bytes) {
      if (length() > 0) throw new Error("a value stood behind what is written already");
      behind = bytes;
      putHeader(field, bytes);
    },
    varint(field, value) {
      reserve(2 * MAX_HEADER_BYTES);
      putVarint(value);
      putVarint(field * 8 + VARINT);
    },
    message(field, from) {
      reserve(MAX_HEADER_BYTES);
      putHeader(field, length() - from);
    },
    finish(headerBytes) {
      const finished = Buffer.allocUnsafe(buffer.length - at + headerBytes);
      buffer.copy(finished, headerBytes, at);
      // A larger one is not kept until the next message.
      buffer = kept;
      return finished;
    },
  };

  /** Header names and values are short and ASCII: a call into native code costs more than the loop. */
  function putAscii(value: string): boolean {
    if (value.length > LONG_TEXT) return false;
    for (let index = value.length - 1; index >= 0; index--) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) return false;
      buffer[--at] = code;
    }
    return true;
  }
}
