/** The part of a body that a person can read. */
export interface LegibleText {
  text: Buffer;
  /** Its end is missing. */
  isCut: boolean;
}

const QUOTE = 34;
/** Shorter ones stay: they may be words. */
const MIN_MEDIA_BYTES = 1_024;
/** Each run of that length contains a probe. */
const STEP_BYTES = MIN_MEDIA_BYTES / 2;
const PROBE_BYTES = 16;
/** A body that has more is cut there: each costs the time of some thousand characters. */
const MAX_NOTES = 1_000;
/** So many are looked at one by one; behind them, probes at this distance are enough. */
const LONG_RUN_BYTES = 4_096;

/** What base64 consists of, as JSON writes it: some programs escape slashes and line ends. */
const IS_BASE64 = new Uint8Array(256);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\")
  IS_BASE64[character.charCodeAt(0)] = 1;

/**
 * A copy of a body without what nobody can read: each long run of base64 becomes a note of its size, whatever the protocol, in JSON
 * and in the events of a stream. What the gateway gives out as a credential is masked.
 * @param maxBytes what is longer without that is cut at its end.
 */
export function legible(body: Buffer, maxBytes: number): LegibleText {
  const pieces: Buffer[] = [];
  let length = 0;
  /** Up to here it is copied, or replaced. */
  let done = 0;

  /** @returns whether there is room for more. */
  function add(piece: Buffer): boolean {
    const room = maxBytes - length;
    pieces.push(piece.length > room ? piece.subarray(0, room) : piece);
    length += Math.min(piece.length, room);
    return piece.length <= room;
  }

  const quoteFrom = createQuoteFinder(body);
  let hasRoom = true;
  let notes = 0;
  // A run that begins where there is still room is found a step later.
  for (let at = STEP_BYTES; at < body.length && hasRoom && at - done <= maxBytes - length + STEP_BYTES; at += STEP_BYTES) {
    if (!isProbe(body, at)) continue;
    let from = at;
    while (from > done && isBase64(body, from - 1)) from -= 1;
    const end = endOfRun(body, at, quoteFrom);
    if (end - from >= MIN_MEDIA_BYTES) {
      notes += 1;
      hasRoom = add(body.subarray(done, from)) && add(Buffer.from(noteOf(end - from))) && notes < MAX_NOTES;
      done = end;
    }
    at = Math.max(at, end);
  }
  if (hasRoom) hasRoom = add(body.subarray(done));
  return { text: maskCredentials(Buffer.concat(pieces)), isCut: !hasRoom };
}

/** In the place of what is not recorded. */
export function noteOf(bytes: number, what = "base64"): string {
  return `[${bytes.toLocaleString("en-US")} bytes of ${what}, not recorded]`;
}

function isBase64(body: Buffer, at: number): boolean {
  return IS_BASE64[body[at] ?? 0] === 1;
}

function isProbe(body: Buffer, from: number): boolean {
  const end = Math.min(body.length, from + PROBE_BYTES);
  for (let at = from; at < end; at += 1) if (!isBase64(body, at)) return false;
  return true;
}

/** A picture of 20 MB must not take as long as its characters: its string's end is found much faster. */
function endOfRun(body: Buffer, from: number, quoteFrom: (at: number) => number): number {
  const near = endWithin(body, from, Math.min(body.length, from + LONG_RUN_BYTES));
  if (near - from < LONG_RUN_BYTES) return near;
  const end = quoteFrom(near);
  let known = near;
  while (known + LONG_RUN_BYTES < end && isProbe(body, known + LONG_RUN_BYTES)) known += LONG_RUN_BYTES;
  return endWithin(body, known, end);
}

/**
 * To be asked for ascending positions. Of many runs in one string, only the first looks for the string's end.
 * @returns a function that returns the first quote from a position on, or the body's length.
 */
function createQuoteFinder(body: Buffer): (at: number) => number {
  let known = -1;
  return (at) => {
    if (known >= at) return known;
    const quote = body.indexOf(QUOTE, at);
    known = quote < 0 ? body.length : quote;
    return known;
  };
}

function endWithin(body: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && isBase64(body, at)) at += 1;
  return at;
}

const CREDENTIALS = /(sk-mg-[0-9A-Za-z]{4})[0-9A-Za-z]{20,}|(mgmt_)[\w-]{16,}/g;
const BEGINNINGS = ["sk-mg-", "mgmt_"];

function maskCredentials(text: Buffer): Buffer {
  if (!BEGINNINGS.some((beginning) => text.includes(beginning))) return text;
  // One byte for each character, and back.
  return Buffer.from(text.toString("latin1").replaceAll(CREDENTIALS, "$1$2****"), "latin1");
}
