const LF = 10;
const CR = 13;
/** Chunks of a stream are smaller. In more, which is a whole document, a comment keeps nobody waiting. */
const MAX_SPLIT_BYTES = 256 * 1024;

/**
 * Splits a chunk after every line end if it may hold comments, so that a comment keeps its place between events, however the
 * bytes were cut in transit. The first line may end a comment that began earlier, so it is always separate; the rest stays whole
 * if no comment begins in it.
 * @param isWanted asked before each piece: once false, the rest is one piece.
 */
export function* splitAtComments(chunk: Buffer, isWanted: () => boolean): Generator<Buffer> {
  if (chunk.length > MAX_SPLIT_BYTES) {
    yield chunk;
    return;
  }
  const hasComments = chunk.includes("\n:") || chunk.includes("\r:");
  let start = 0;
  while (isWanted()) {
    const end = afterLine(chunk, start);
    if (end === null) break;
    yield chunk.subarray(start, end);
    start = end;
    if (!hasComments) break;
  }
  yield chunk.subarray(start);
}

/** Null if the line does not end in this chunk. */
function afterLine(chunk: Buffer, start: number): number | null {
  for (let at = start; at < chunk.length; at += 1) if (chunk[at] === LF || chunk[at] === CR) return at + 1;
  return null;
}
