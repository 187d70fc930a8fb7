/** Precedes a line of a shell profile that the installer turned into a comment. */
export const COMMENT = "# model-gateway: ";

export function uncommented(text: string): string {
  return text
    .split("\n")
    .map((line) => (line.startsWith(COMMENT) ? line.slice(COMMENT.length) : line))
    .join("\n");
}
