/** A gRPC frame is a compression flag, the length in four bytes, and the message. */
export const FRAME_HEADER_BYTES = 5;

export interface FrameReader {
  /**
   * Emits each message that this chunk completes, in order. A message may share memory with the chunk.
   * @throws Error for a compressed message, because the server offers no compression, and for one that is too large.
   */
  push(chunk: Buffer): void;
}

export function createFrameReader(maxMessageBytes: number, onMessage: (message: Buffer) => void): FrameReader {
  /** The chunks of an unfinished frame; most frames arrive whole, in one chunk. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let neededBytes = FRAME_HEADER_BYTES;

  function push(chunk: Buffer): void {
    if (heldBytes === 0) return read(chunk);
    held.push(chunk);
    heldBytes += chunk.length;
    // Joined once the frame is complete, so that a large message in many chunks is copied once.
    if (heldBytes < neededBytes) return;
    const joined = Buffer.concat(held, heldBytes);
    held = [];
    heldBytes = 0;
    read(joined);
  }

  function read(bytes: Buffer): void {
    let at = 0;
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const end = at + FRAME_HEADER_BYTES + checkedLength(bytes, at);
      if (bytes.length < end) {
        hold(bytes.subarray(at), end - at);
        return;
      }
      onMessage(bytes.subarray(at + FRAME_HEADER_BYTES, end));
      at = end;
    }
    if (at < bytes.length) hold(bytes.subarray(at), FRAME_HEADER_BYTES);
  }

  function hold(rest: Buffer, needed: number): void {
    held = [rest];
    heldBytes = rest.length;
    neededBytes = needed;
  }

  function checkedLength(bytes: Buffer, at: number): number {
    if (bytes[at] !== 0) throw new Error("a gRPC message is compressed");
    const length = bytes.readUInt32BE(at + 1);
    if (length > maxMessageBytes) throw new Error(`a gRPC message of ${length} bytes is too large`);
    return length;
  }

  return { push };
}
