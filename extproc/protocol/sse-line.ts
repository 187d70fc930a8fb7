/** Collects the bytes of one line over many chunks, in linear time however small they are. */
export interface LineBuffer {
  append(chunk: Buffer, start: number, end: number): void;
  /** The line as text; the buffer is empty afterwards. */
  take(): string;
  /** Bytes held. */
  readonly length: number;
}

const FIRST_BYTES = 4096;
/** A buffer that one huge line grew beyond this is given back. */
const KEPT_BYTES = 256 * 1024;

export function createLineBuffer(): LineBuffer {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let length = 0;

  function append(chunk: Buffer, start: number, end: number): void {
    const needed = length + end - start;
    // Doubling keeps a line of n one-byte chunks at O(n) copied bytes.
    if (needed > bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, bytes.length * 2));
      bytes.copy(grown, 0, 0, length);
      bytes = grown;
    }
    chunk.copy(bytes, length, start, end);
    length = needed;
  }

  function take(): string {
    const text = bytes.toString("utf8", 0, length);
    length = 0;
    if (bytes.length > KEPT_BYTES) bytes = Buffer.allocUnsafe(FIRST_BYTES);
    return text;
  }

  return {
    append,
    take,
    get length() {
      return length;
    },
  };
}
