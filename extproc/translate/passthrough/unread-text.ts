import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { isBase64, isPicture, objectsIn, OPAQUE } from "../readable-output.ts";

/** Ids and vendors' fields that differ from event to event. */
const FREE_EVENT_BYTES = 64;
/** Ids, fingerprints, vendors' fields and the names of all members, each the first time it is sent. */
const FREE_ANSWER_BYTES = 4 * 1024;

/** The text of an error is not an answer. If a server reports more errors than can end an answer, their text is charged. */
const FREE_ERROR_BYTES = 64 * 1024;
/** Responses servers send an event `error` and the response that failed. */
const MAX_FREE_ERRORS = 2;

/** Strings that an answer repeats in every event, such as its id and the names of members. */
const MAX_KNOWN = 96;
const LONGEST_KNOWN = 256;

/** A second of speech is some twenty tokens and, as base64, 64 KB. */
const SEALED_BYTES_PER_TEXT_BYTE = 256;

/** The highest `top_logprobs` that a client may request. */
const MAX_ALTERNATIVES = 20;
const LONGEST_TOKEN = 64;

/** One event, or a complete answer. */
export interface Piece {
  /** As sent. */
  data: string;
  json: JsonObject;
  /** Bytes of its strings that the meter has counted. */
  countedBytes: number;
  /** Bytes of its strings that need no count, such as arguments that were sent before. */
  freeBytes?: number;
}

/**
 * Finds text that clients can read in places that the meter does not read: in ids, names, duplicate members and members of no
 * known format.
 */
export interface UnreadText {
  /** @returns bytes of text beyond the free allowance of an answer. */
  find(piece: Piece): number;
}

export function createUnreadText(): UnreadText {
  const known = new Set<string>();
  let freeBytes = FREE_ANSWER_BYTES;

  /** Bytes of the strings that are new in this answer. */
  function newBytes(data: string): number {
    // Servers send one text under several names.
    const here = new Set<string>();
    let bytes = 0;
    for (let open = data.indexOf('"'); open >= 0;) {
      const close = endOfString(data, open + 1);
      const written = data.slice(open + 1, close);
      open = data.indexOf('"', close + 1);
      if (written === "" || known.has(written) || here.has(written)) continue;
      if (known.size < MAX_KNOWN && written.length <= LONGEST_KNOWN) known.add(written);
      else here.add(written);
      bytes += Buffer.byteLength(written.includes("\\") ? String(JSON.parse(`"${written}"`)) : written);
    }
    return bytes;
  }

  return {
    find({ data, json, countedBytes, freeBytes: free = 0 }) {
      const unread = newBytes(data) - countedBytes - free - FREE_EVENT_BYTES;
      if (unread <= 0) return 0;
      const sealed = Math.min(unread, sealedBytes(json));
      const isFree = Math.min(unread - sealed, freeBytes);
      freeBytes -= isFree;
      return unread - sealed - isFree + Math.floor(sealed / SEALED_BYTES_PER_TEXT_BYTE);
    },
  };
}

/**
 * The same of a complete answer. Most are so small that nothing in them exceeds the allowance: their strings are not compared, and
 * what is sealed in them counts as nothing (at most 16 bytes).
 * @param answer as sent.
 */
export function findUnread(answer: Buffer, piece: Omit<Piece, "data">): number {
  if (answer.length - piece.countedBytes - (piece.freeBytes ?? 0) <= FREE_ANSWER_BYTES) return 0;
  return createUnreadText().find({ ...piece, data: answer.toString("utf8") });
}

/** @returns for each error of one answer, the bytes of its free allowance. */
export function createFreeErrors(): () => number {
  let errors = 0;
  return () => {
    errors += 1;
    return errors <= MAX_FREE_ERRORS ? FREE_ERROR_BYTES : 0;
  };
}

/** Bytes of recordings, images, signatures and sealed reasoning: base64, under the names that hold it. */
function sealedBytes(json: JsonObject): number {
  let bytes = 0;
  // An explicit list: nesting may be deeper than the stack.
  const waiting: [string, unknown][] = Object.entries(json);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, value] = next;
    if (typeof value === "string") {
      const isSealed = ((name === "data" || OPAQUE.test(name)) && isBase64(value)) || isPicture(name, value);
      bytes += isSealed ? value.length : 0;
    } else if (Array.isArray(value)) for (const element of value) waiting.push([name, element]);
    else if (isObject(value)) for (const member of Object.entries(value)) waiting.push(member);
  }
  return bytes;
}

/** Content of log probabilities: the tokens of the text, and some alternatives to each, all of them short. */
export function logprobBytes(choices: unknown, textBytes: number): number {
  let bytes = 0;
  for (const choice of objectsIn(choices)) {
    const { logprobs } = choice;
    if (!isObject(logprobs)) continue;
    const tokens = [...objectsIn(logprobs["content"]), ...objectsIn(logprobs["refusal"])];
    for (const token of tokens.slice(0, textBytes))
      for (const each of [token, ...objectsIn(token["top_logprobs"]).slice(0, MAX_ALTERNATIVES)]) bytes += tokenBytes(each);
  }
  return bytes;
}

function tokenBytes({ token }: JsonObject): number {
  return typeof token === "string" ? Math.min(Buffer.byteLength(token), LONGEST_TOKEN) : 0;
}

/** @returns the index of the closing quote. */
function endOfString(data: string, from: number): number {
  for (let quote = data.indexOf('"', from); quote >= 0; quote = data.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (data[quote - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return quote;
  }
  return data.length;
}
