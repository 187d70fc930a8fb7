/**
 * Walks over JSON bytes without decoding them. JSON.parse accepts the text, or its outline, before any result is used, so nothing
 * is checked here; on other text the offsets mean nothing, but every walk still ends. Nesting is counted, not recursed.
 */

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** This many bytes are examined one by one before a native search is worth its call. */
const NEAR_BYTES = 64;

/** A range of bytes, `end` excluded. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member {
  readonly name: string;
  /** From the quote of the name to the end of the value. */
  readonly span: Span;
  readonly value: Span;
}

/**
 * The members of a JSON object in order, including duplicates; none for anything but an object.
 * @param start where it begins.
 */
export function scanMembers(json: Buffer, start = 0): Member[] {
  const members: Member[] = [];
  let at = skipSpace(json, start);
  if (json[at] !== OPEN_BRACE) return members;
  at = skipSpace(json, at + 1);
  while (json[at] === QUOTE) {
    const nameEnd = skipString(json, at);
    const valueStart = skipSpace(json, skipSpace(json, nameEnd) + 1);
    const valueEnd = skipValue(json, valueStart);
    members.push({
      name: decodeName(json, at, nameEnd),
      span: { start: at, end: valueEnd },
      value: { start: valueStart, end: valueEnd },
    });
    at = skipSeparator(json, valueEnd);
  }
  return members;
}

/** The elements of a JSON array, as written; none for anything but an array. */
export function scanElements(json: Buffer): Buffer[] {
  const elements: Buffer[] = [];
  let at = skipSpace(json, 0);
  if (json[at] !== OPEN_BRACKET) return elements;
  at = skipSpace(json, at + 1);
  while (at < json.length && json[at] !== CLOSE_BRACKET) {
    const end = skipValue(json, at);
    elements.push(json.subarray(at, end));
    // A value of no bytes is not JSON: skipping it keeps the walk finite.
    at = skipSeparator(json, Math.max(end, at + 1));
  }
  return elements;
}

/** The value of a member as written, the last one if there are several, as JSON.parse reads it. */
export function rawMember(json: Buffer | undefined, name: string): Buffer | undefined {
  if (json === undefined) return undefined;
  const member = scanMembers(json).findLast((candidate) => candidate.name === name);
  return member === undefined ? undefined : json.subarray(member.value.start, member.value.end);
}

/** Offset of the first byte inside the braces, for inserting a member; null for anything but an object. */
export function insideObject(json: Buffer): number | null {
  const at = skipSpace(json, 0);
  return json[at] === OPEN_BRACE ? at + 1 : null;
}

export function skipSeparator(json: Buffer, at: number): number {
  const next = skipSpace(json, at);
  return json[next] === COMMA ? skipSpace(json, next + 1) : next;
}

export function skipSpace(json: Buffer, at: number): number {
  let next = at;
  while (json[next] === 32 || json[next] === 10 || json[next] === 13 || json[next] === 9) next += 1;
  return next;
}

export function skipValue(json: Buffer, at: number): number {
  const first = json[at];
  if (first === QUOTE) return skipString(json, at);
  if (first === OPEN_BRACKET) return skipNumbers(json, at) ?? skipNested(json, at);
  if (first === OPEN_BRACE) return skipNested(json, at);
  let next = at;
  while (next < json.length && !endsLiteral(json[next])) next += 1;
  return next;
}

/** Lists of numbers may be long: vectors, token ids. @returns null for any other list. */
function skipNumbers(json: Buffer, at: number): number | null {
  const close = json.indexOf(CLOSE_BRACKET, at);
  const inner = json.subarray(at + 1, close < 0 ? json.length : close);
  if ([QUOTE, OPEN_BRACKET, OPEN_BRACE].some((byte) => inner.includes(byte))) return null;
  return close < 0 ? json.length : close + 1;
}

function skipNested(json: Buffer, at: number): number {
  let depth = 0;
  let next = at;
  while (next < json.length) {
    const byte = json[next];
    if (byte === QUOTE) {
      next = skipString(json, next);
      continue;
    }
    next += 1;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
    if (depth === 0) return next;
  }
  return json.length;
}

/**
 * The end of the string that begins here. Quotes are close together in code and in JSON inside a string, and far apart in prose:
 * each has a faster method.
 */
export function skipString(json: Buffer, at: number): number {
  let next = at + 1;
  while (next < json.length) {
    const far = Math.min(next + NEAR_BYTES, json.length);
    while (next < far) {
      const byte = json[next];
      if (byte === QUOTE) return next + 1;
      next += byte === BACKSLASH ? 2 : 1;
    }
    const quote = json.indexOf(QUOTE, next);
    if (quote < 0) break;
    if (!isEscaped(json, quote)) return quote + 1;
    next = quote + 1;
  }
  return json.length;
}

/** An odd run of backslashes before a quote escapes it. Runs never overlap, so all of them together are linear. */
function isEscaped(json: Buffer, quote: number): boolean {
  let start = quote;
  while (json[start - 1] === BACKSLASH) start -= 1;
  return (quote - start) % 2 === 1;
}

function endsLiteral(byte: number | undefined): boolean {
  return (
    byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === 32 || byte === 10 || byte === 13 || byte === 9
  );
}

/** @param end after the closing quote. */
export function decodeName(json: Buffer, start: number, end: number): string {
  const inner = json.toString("utf8", start + 1, end - 1);
  if (!inner.includes("\\")) return inner;
  const decoded: unknown = JSON.parse(`"${inner}"`);
  return String(decoded);
}
