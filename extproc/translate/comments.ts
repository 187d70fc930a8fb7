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
  const isSplit = chunk.length <= MAX_SPLIT_BYTES;
  const hasComments = isSplit && (chunk.includes("\n:") || chunk.includes("\r:"));
  let start = 0;
  for (let at = 0; isSplit && at < chunk.length && isWanted(); at += 1) {
    while (at < chunk.length && chunk[at] !== LF && chunk[at] !== CR) at += 1;
    if (at === chunk.length) break;
    yield chunk.subarray(start, at + 1);
    start = at + 1;
    if (!hasComments) break;
  }
  yield chunk.subarray(start);
}
