/**
 * Characters of a text, counting a run of one character once. Tokenizers make one token of long runs (blanks, dashes), so bytes
 * say little about the minimum number of tokens in a text; this does.
 */
export function countCharacters(text: string): number {
  let count = 0;
  let previous = -1;
  for (let at = 0; at < text.length; at++) {
    const character = text.codePointAt(at) ?? 0;
    if (character > 0xffff) at += 1;
    if (character !== previous) count += 1;
    previous = character;
  }
  return count;
}
