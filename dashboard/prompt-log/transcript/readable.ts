const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** JSON.stringify calls itself for each level: some thousand of them are more than the stack has. */
const MAX_DEPTH = 500;
/** Line breaks and indentation may make it so many times longer. Numbers in a list that is four levels deep take six times as much. */
const MAX_GROWTH = 8;

/**
 * Whether people can be shown JSON with line breaks. To be asked before it is parsed: nested a thousand deep, 100 kB become 100 MB.
 */
export function isReadableJson(json: string): boolean {
  const maxGrowth = MAX_GROWTH * json.length;
  let depth = 0;
  let growth = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(json, at);
      continue;
    }
    if (character === OPEN_BRACKET || character === OPEN_BRACE) depth += 1;
    else if (character === CLOSE_BRACKET || character === CLOSE_BRACE) depth -= 1;
    else if (character !== COMMA) continue;
    growth += 1 + 2 * depth;
    if (depth > MAX_DEPTH || growth > maxGrowth) return false;
  }
  return true;
}

/** @returns the position of its last quote. */
function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at >= 0; at = json.indexOf('"', at + 1)) if (!isEscaped(json, at)) return at;
  return json.length;
}

function isEscaped(json: string, at: number): boolean {
  let before = at;
  while (json.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 1;
}
