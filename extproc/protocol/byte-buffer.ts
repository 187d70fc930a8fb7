/** Bytes collected over many chunks, in linear time however small the chunks are. */
export interface ByteBuffer {
  append(chunk: Buffer, start?: number, end?: number): void;
  /** The collected bytes; valid until the next change. */
  view(): Buffer;
  /** Removes bytes from the front. */
  drop(count: number): void;
  length(): number;
}

/** Small enough to come out of Node's pool: memory outside of it makes V8 collect garbage sooner. */
const FIRST_BYTES = 1024;
const NOTHING = Buffer.alloc(0);

export function createByteBuffer(): ByteBuffer {
  // Many are created and never used.
  let bytes: Buffer = NOTHING;
  let length = 0;

  function append(chunk: Buffer, start = 0, end = chunk.length): void {
    const needed = length + end - start;
    // Doubling keeps n one-byte chunks at O(n) copied bytes.
    if (needed > bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(FIRST_BYTES, needed, bytes.length * 2));
      bytes.copy(grown, 0, 0, length);
      bytes = grown;
    }
    chunk.copy(bytes, length, start, end);
    length = needed;
  }

  function drop(count: number): void {
    bytes.copyWithin(0, count, length);
    length -= count;
    // As long as one of them is kept, so is the whole page of the pool, with the remains of a hundred others.
    if (length === 0) bytes = NOTHING;
  }

  return {
    append,
    view: () => bytes.subarray(0, length),
    drop,
    length: () => length,
  };
}
