/** Bytes collected over many chunks, in linear time however small the chunks are. */
export interface ByteBuffer {
  append(chunk: Buffer, start?: number, end?: number): void;
  /** What is held; valid until the next change. */
  view(): Buffer;
  /** Takes bytes away from the front. */
  drop(count: number): void;
  readonly length: number;
}

const FIRST_BYTES = 4096;
/** Memory that one huge line or event took beyond this is given back. */
const KEPT_BYTES = 256 * 1024;

export function createByteBuffer(): ByteBuffer {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let length = 0;

  function append(chunk: Buffer, start = 0, end = chunk.length): void {
    const needed = length + end - start;
    // Doubling keeps n one-byte chunks at O(n) copied bytes.
    if (needed > bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, bytes.length * 2));
      bytes.copy(grown, 0, 0, length);
      bytes = grown;
    }
    chunk.copy(bytes, length, start, end);
    length = needed;
  }

  function drop(count: number): void {
    bytes.copyWithin(0, count, length);
    length -= count;
    if (length === 0 && bytes.length > KEPT_BYTES) bytes = Buffer.allocUnsafe(FIRST_BYTES);
  }

  return {
    append,
    view: () => bytes.subarray(0, length),
    drop,
    get length() {
      return length;
    },
  };
}
