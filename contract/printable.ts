/** Control characters, line breaks, and marks that change the order in which the text after them is read. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Whether a text is one line that reads as it is written. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}
