import { createHmac, type KeyObject } from "node:crypto";

/** Identifies a credential without revealing it: a keyed hash of its letters and digits, and their number. */
export interface Fingerprint {
  length: number;
  hash: string;
}

/** The letters and digits of a text in lower case, with their positions. Escapes are decoded. */
export interface Flattened {
  letters: string;
  /** For each letter, the range of the text that encodes it. */
  starts: readonly number[];
  ends: readonly number[];
  /** Positions of letters that follow another kind of character, and the end. */
  boundaries: ReadonlySet<number>;
}

/** A shorter one may be an ordinary word. */
const MIN_LETTERS = 8;
/** A word of a credential that is long enough to be the secret itself. */
const MIN_PART_LETTERS = 16;
const HASH_BYTES = 16;

/** `%2D`, also escaped twice as `%252D`; `\u002d`, `\n`; `&#45;`, `&#x2d;`, `&amp;`. */
const ESCAPES = /%(?:25)*([0-9a-f]{2})|\\u([0-9a-f]{4})|\\[nrtbf"\\/]|&#x([0-9a-f]{1,6});|&#(\d{1,7});|&[a-z]{2,6};|[a-z0-9]/gi;

export function flatten(text: string): Flattened {
  const starts: number[] = [];
  const ends: number[] = [];
  const boundaries = new Set<number>();
  let letters = "";
  let before = 0;
  for (const match of text.matchAll(ESCAPES)) {
    const [whole, percent, unicode, hex, decimal] = match;
    const letter = meant(whole, percent ?? unicode ?? hex, decimal);
    if (match.index > before || !/^[a-z0-9]$/.test(letter)) boundaries.add(letters.length);
    before = match.index + whole.length;
    if (!/^[a-z0-9]$/.test(letter)) continue;
    letters += letter;
    starts.push(match.index);
    ends.push(before);
  }
  return { letters, starts, ends, boundaries: boundaries.add(0).add(letters.length) };
}

function meant(whole: string, hex: string | undefined, decimal: string | undefined): string {
  if (whole.length === 1) return whole.toLowerCase();
  const code = hex === undefined ? Number(decimal ?? NaN) : Number.parseInt(hex, 16);
  return code < 128 ? String.fromCharCode(code).toLowerCase() : "";
}

/** @param pepper the secret that keys are hashed with: without it, nobody can test guesses on a copy of the database. */
export function fingerprintOf(letters: string, pepper: Uint8Array | KeyObject): string {
  const hmac = createHmac("sha256", pepper).update("provider credential\0").update(letters);
  return hmac.digest().subarray(0, HASH_BYTES).toString("base64url");
}

/** Fingerprints of the whole credential, also in base64 and hex, and of each word that is long enough to be a secret itself. */
export function fingerprintsOf(credential: string, pepper: Uint8Array | KeyObject): Fingerprint[] {
  const whole = flatten(credential).letters;
  const words = credential.split(/[^a-z0-9]+/i).map((word) => word.toLowerCase());
  const parts = words.filter((word) => word.length >= MIN_PART_LETTERS && /\d/.test(word) && /[a-z]/.test(word));
  const encoded = whole.length >= MIN_LETTERS ? encodingsOf(credential) : [];
  const secrets = new Set([whole, ...parts, ...encoded].filter((letters) => letters.length >= MIN_LETTERS));
  return [...secrets].map((letters) => ({ length: letters.length, hash: fingerprintOf(letters, pepper) }));
}

/** The letters and digits of each encoding. Both alphabets of base64 share them and differ only in symbols. */
function encodingsOf(credential: string): string[] {
  const header = Buffer.from(`Bearer ${credential}`);
  const value = Buffer.from(credential);
  return [value.toString("base64"), header.toString("base64"), value.toString("hex")].map((text) => flatten(text).letters);
}

/** Grouped by length, in the order in which a text is searched for them. */
export function byLength(fingerprints: Iterable<Fingerprint>): ReadonlyMap<number, ReadonlySet<string>> {
  const lengths = new Map<number, Set<string>>();
  for (const { length, hash } of fingerprints) lengths.set(length, (lengths.get(length) ?? new Set()).add(hash));
  return lengths;
}
