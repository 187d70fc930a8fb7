const LF = 10;
const CR = 13;

/**
 * Cuts a chunk behind every line end where it may hold comments: so a comment is seen between the events that
 * it stood between, however the bytes were cut on their way. The first line may end a comment that began earlier,
 * so it is always apart; the rest stays whole where no comment begins in it.
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
