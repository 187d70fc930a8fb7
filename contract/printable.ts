/** Control characters, line breaks, and marks that change the order in which the text after them is read. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/u;

/** Whether a text is one line that reads as it is written. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether there is anything to see of a text: a link with such a name could not be clicked. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}
