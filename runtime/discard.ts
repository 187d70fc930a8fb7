/** Smaller buffers may share their memory with others. */
const MIN_BYTES = 64 * 1024;

/**
 * Returns a large buffer's memory at once; nobody may use the buffer afterwards: it is empty, and so are its parts. Left to the
 * garbage collector, which looks at the heap and sees little of what is outside, a burst of such buffers stays for long.
 */
export function discard(buffer: Buffer): void {
  const { buffer: memory } = buffer;
  const isItsOwn = memory.byteLength === buffer.byteLength && memory.byteLength >= MIN_BYTES;
  if (isItsOwn && memory instanceof ArrayBuffer) memory.transfer(0);
}
