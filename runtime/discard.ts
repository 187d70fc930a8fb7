/** Smaller buffers may share their memory with others. */
const MIN_BYTES = 64 * 1024;

/**
 * Releases a large buffer's memory at once. The buffer and all views of it are empty afterwards and must not be used. The garbage
 * collector, which takes little account of memory outside the heap, would keep a burst of such buffers for a long time.
 */
export function discard(buffer: Buffer): void {
  const { buffer: memory } = buffer;
  const isItsOwn = memory.byteLength === buffer.byteLength && memory.byteLength >= MIN_BYTES;
  if (isItsOwn && memory instanceof ArrayBuffer) memory.transfer(0);
}
