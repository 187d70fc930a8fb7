const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/**
 * Whether a JSON text has more values than this, counted by commas and opening brackets. To be asked before it is parsed: eight
 * mebibytes of `{},` take seconds and hundreds of mebibytes.
 */
export function hasMoreParts(json: Buffer, max: number): boolean {
  let parts = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at);
    else if ((byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) && ++parts > max) return true;
  }
  return false;
}

/** @returns the position of the quote that ends it. */
function stringEnd(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === BACKSLASH) at++;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}
