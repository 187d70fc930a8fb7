const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;

/**
 * What a JSON text has more of than this: values, counted by commas and opening brackets, or members of objects. To be asked before it
 * is parsed: eight mebibytes of `{},` take seconds and hundreds of mebibytes.
 */
export function excessOf(json: Buffer, max: { parts: number; members: number }): "parts" | "members" | null {
  let parts = 0;
  let members = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = stringEnd(json, at);
    else if ((byte === COMMA || byte === OPEN_BRACKET || byte === OPEN_BRACE) && ++parts > max.parts) return "parts";
    else if (byte === COLON && ++members > max.members) return "members";
  }
  return null;
}

/** @returns the position of the quote that ends it. */
function stringEnd(json: Buffer, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === BACKSLASH) at++;
    else if (json[at] === QUOTE) return at;
  }
  return json.length;
}
