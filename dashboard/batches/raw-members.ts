/**
 * The members of a JSON object as they are written: numbers keep all their digits, which `JSON.parse` rounds.
 * @param text a valid JSON object.
 */
export function rawMembers(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let depth = 0;
  let key: string | undefined;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (letter === '"') {
      const end = stringEnd(text, at);
      // The first string of a member is its name.
      if (depth === 1 && key === undefined) key = String(JSON.parse(text.slice(at, end)));
      at = end - 1;
    } else if (letter === "{" || letter === "[") depth++;
    else if (letter === ":" && depth === 1) start = at + 1;
    else if (letter === "," && depth === 1) take(at);
    else if (letter === "}" || letter === "]") {
      if (depth === 1) take(at);
      depth--;
    }
  }
  return members;

  function take(end: number): void {
    // As `JSON.parse` does: the last one of a name counts.
    if (key !== undefined) members.set(key, text.slice(start, end).trim());
    key = undefined;
  }
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}
