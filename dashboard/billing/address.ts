export const MAX_ADDRESS_LINES = 6;

/** Lines that have something in them. */
export function addressLines(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
