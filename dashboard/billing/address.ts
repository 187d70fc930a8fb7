export const MAX_ADDRESS_LINES = 6;

/** Non-empty lines. */
export function addressLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
