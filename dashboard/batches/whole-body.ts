import { Readable } from "node:stream";

/**
 * The body of an answer that must have so many bytes. What it is read from may be deleted meanwhile: the answer is then broken off,
 * so that nobody takes a part of it for the whole.
 */
export function wholeBody(pieces: AsyncIterable<Buffer>, bytes: number): Readable {
  return Readable.from(counted(pieces, bytes), { objectMode: false });
}

async function* counted(pieces: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const piece of pieces) {
    sent += piece.length;
    yield piece;
  }
  if (sent !== bytes) throw new Error(`It was deleted or has expired while it was sent: ${sent} of ${bytes} bytes were left.`);
}
