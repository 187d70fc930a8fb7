const LF = 10;
const CR = 13;
const COLON = 58;

/**
 * Cuts a chunk behind every line end where it may hold comments: so a comment is seen between the events that
 * it stood between, however the bytes were cut on their way. A chunk without any stays whole.
 */
export function splitAtComments(chunk: Buffer): Buffer[] {
  if (!mayHoldComment(chunk)) return [chunk];
  const lines: Buffer[] = [];
  let start = 0;
  for (let at = 0; at < chunk.length; at += 1) {
    if (chunk[at] !== LF && chunk[at] !== CR) continue;
    lines.push(chunk.subarray(start, at + 1));
    start = at + 1;
  }
  lines.push(chunk.subarray(start));
  return lines;
}

function mayHoldComment(chunk: Buffer): boolean {
  return chunk[0] === COLON || chunk.includes("\n:") || chunk.includes("\r:");
}
