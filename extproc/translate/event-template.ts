import { isUtf8 } from "node:buffer";
import { rawMember } from "../protocol/json/scan.ts";
import type { SseEvent } from "../protocol/sse.ts";

/**
 * Most events of an answer are the same bytes around another piece of text. Once one such event has been read in full, the
 * following ones are recognized by these bytes, and only the length of the text is measured: no line is decoded and no JSON
 * parsed.
 */
export interface EventTemplate {
  /** The whole events at the front of a chunk that have the known form; null if there is none. */
  skim(chunk: Buffer): Skimmed | null;
  /** Is it worth showing it further events? */
  isLearning(): boolean;
  /** Learns the form of an event, if it has one. */
  learn(sample: EventSample): void;
  /** The following events are read differently: the form that it knows is useless. */
  forget(): void;
}

interface Skimmed {
  bytes: number;
  /** Number of these that are text. */
  textBytes: number;
  /** Its characters, as the meter counts them. */
  characters: number;
  /** Its length as a JavaScript string. */
  length: number;
  /** The client's events in their place; null if they pass unchanged. */
  edited: Buffer | null;
}

interface EventSample {
  event: SseEvent;
  /** The event's own bytes. */
  bytes: Buffer;
  /** Its data as the client gets it; null if unchanged. */
  editedData: Buffer | null;
  /** The bytes around the text in the client's event, in another protocol. */
  frame?: { before: string; after: string };
}

/**
 * The JSON string (with its quotes, in the same memory) that is the one text of an event's data; undefined if the event contains
 * anything else that the gateway reads, so that a different text would not be the only difference.
 */
export type FindText = (data: Buffer) => Buffer | undefined;

/** The bytes around the text, byte for character. */
interface Form {
  before: string;
  after: string;
}

/** A stream whose events differ in more than their text, or hardly ever, costs only this many attempts. */
const MAX_LESSONS = 16;

const QUOTE = 34;
const BACKSLASH = 92;
const FIRST_PRINTABLE = 32;
/** Bytes inside a character of several, and those that such a character begins with. */
const FIRST_INSIDE = 0x80;
const FIRST_LEAD = 0xc0;
const FIRST_OF_FOUR = 0xf0;
const FIRST_LETTER = 65;
const ESCAPED = '"\\/bfnrt';
/** As JSON.stringify writes them: text copied into another event must be identical to text that was parsed. */
const CANONICAL = '"\\bfnrt';

export function createEventTemplate(findText: FindText): EventTemplate {
  let received: Form | undefined;
  /** If it differs from the received one. */
  let edited: Form | undefined;
  let isFramed = false;
  let lessons = 0;

  function learn({ event, bytes, editedData, frame }: EventSample): void {
    if (lessons === MAX_LESSONS || event.dataRange === null) return;
    lessons += 1;
    const dataAt = event.dataRange.start - event.start;
    const dataEnd = event.dataRange.end - event.start;
    const form = formOf(bytes.subarray(dataAt, dataEnd), findText);
    const editedForm = editedData === null ? undefined : formOf(editedData, findText);
    const lead = bytes.toString("latin1", 0, dataAt);
    const tail = bytes.toString("latin1", dataEnd);
    // A CR at the very end may have its LF in the next chunk.
    if (form === undefined || (editedData !== null && editedForm === undefined) || tail !== "\n\n") return;
    const whole = ({ before, after }: Form) => ({ before: lead + before, after: after + tail });
    received = whole(form);
    edited = frame ?? (editedForm === undefined ? undefined : whole(editedForm));
    isFramed = frame !== undefined;
  }

  function skim(chunk: Buffer): Skimmed | null {
    if (received === undefined) return null;
    const { before, after } = received;
    if (chunk.length < before.length + after.length) return null;
    const all = chunk.toString("latin1");
    let at = 0;
    let textBytes = 0;
    let characters = 0;
    let length = 0;
    let output = "";
    while (hasAt(all, before, at)) {
      const from = at + before.length;
      const text = measureText(all, from, isFramed ? CANONICAL : ESCAPED);
      // An empty text is not an event in another protocol.
      if (text === null || (isFramed && text.end === from) || !hasAt(all, after, text.end)) break;
      textBytes += text.bytes;
      characters += text.characters;
      length += text.length;
      if (edited !== undefined) output += edited.before + all.slice(from, text.end) + edited.after;
      at = text.end + after.length;
    }
    if (isFramed && at > 0 && !isUtf8(chunk.subarray(0, at))) return null;
    return at === 0
      ? null
      : { bytes: at, textBytes, characters, length, edited: edited === undefined ? null : Buffer.from(output, "latin1") };
  }

  return {
    skim,
    learn,
    forget() {
      received = undefined;
    },
    isLearning: () => lessons < MAX_LESSONS,
  };
}

/** `startsWith` compares character by character in optimized code; this compares words. */
function hasAt(all: string, part: string, at: number): boolean {
  return all.slice(at, at + part.length) === part;
}

function formOf(data: Buffer, findText: FindText): Form | undefined {
  const text = findText(data);
  if (text === undefined) return undefined;
  const from = text.byteOffset - data.byteOffset + 1;
  return { before: data.toString("latin1", 0, from), after: data.toString("latin1", from + text.length - 2) };
}

interface MeasuredText {
  end: number;
  bytes: number;
  /** As a JavaScript string, if the bytes are valid UTF-8. */
  length: number;
  characters: number;
}

/**
 * Up to the quote after a JSON string's text, whose UTF-8 bytes are one character each here. Null if it has none, or is not as
 * plain as most. Characters are counted as `countCharacters` does.
 */
function measureText(all: string, from: number, escaped: string): MeasuredText | null {
  let escapes = 0;
  /** Bytes of a character beyond its code units. */
  let surplus = 0;
  let characters = 0;
  let previousAt = -1;
  let previous = -1;
  for (let at = from; at < all.length; at++) {
    let code = all.charCodeAt(at);
    if (code === QUOTE) return { end: at, bytes: at - from - escapes, length: at - from - escapes - surplus, characters };
    if (code < FIRST_PRINTABLE) return null;
    if (code >= FIRST_INSIDE) {
      if (code < FIRST_LEAD) {
        surplus += 1;
        continue;
      }
      // Four bytes are two code units.
      if (code >= FIRST_OF_FOUR) surplus -= 1;
    }
    if (code === BACKSLASH) {
      at += 1;
      escapes += 1;
      if (!escaped.includes(all.charAt(at))) return null;
      code = all.charCodeAt(at);
      // A letter represents a control character here.
      if (code >= FIRST_LETTER && code !== BACKSLASH) code = -code;
    }
    const isSame = code === previous && (code < FIRST_LEAD || isSameCharacter(all, previousAt, at));
    if (!isSame) characters += 1;
    previous = code;
    previousAt = at;
  }
  return null;
}

/** Of two consecutive ones that begin with the same byte: are the following bytes the same? */
function isSameCharacter(all: string, first: number, second: number): boolean {
  for (let at = first + 1; at < second; at++) if (all.charCodeAt(at) !== all.charCodeAt(at + second - first)) return false;
  return true;
}

/** The member, under one of these names, whose value is the text. */
export function findTextMember(object: Buffer | undefined, names: readonly string[], text: string): Buffer | undefined {
  const written = JSON.stringify(text);
  for (const name of names) {
    const value = rawMember(object, name);
    if (value !== undefined && value.toString("utf8") === written) return value;
  }
  return undefined;
}
