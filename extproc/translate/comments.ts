const LF = 10;
const CR = 13;

/**
 * Splits a chunk after every line end if it may hold comments, so that a comment keeps its place between events, however the
 * bytes were cut in transit. The first line may end a comment that began earlier, so it is always separate; the rest stays whole
 * if no comment begins in it.
 */
export function splitAtComments(chunk: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  const hasComments = chunk.includes("\n:") || chunk.includes("\r:");
  let start = 0;
  for (let at = 0; at < chunk.length; at += 1) {
    if (chunk[at] !== LF && chunk[at] !== CR) continue;
    lines.push(chunk.subarray(start, at + 1));
    start = at + 1;
    if (!hasComments) break;
  }
  lines.push(chunk.subarray(start));
  return lines;
}
