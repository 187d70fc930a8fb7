import { decodeName, skipSpace, skipString } from "../protocol/json/scan.ts";
import { isMediaText } from "../translate/conversation/media-text.ts";
import { unescapeArguments } from "./escapes.ts";
import { decodeBase64, isMediaMember, slotsIn, unpacked, type MediaSlots } from "./media.ts";
import { isProtocolName, isProtocolWord, marksText } from "./words.ts";

const COMMA = 44;
const COLON = 58;
const QUOTE = 34;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

export interface Strings {
  whole: string[];
  /** The same by element; null if the value is no array. */
  elements: string[][] | null;
}

/** An object or array around the current position. */
interface Frame {
  isArray: boolean;
  /** Of the member whose value it is, or whose list it is in. */
  name: string;
  /** Null if all in it is text. */
  slots: MediaSlots | null;
  /** Where strings are that seem to be media, or a file of text. */
  media: { at: number; stop: number }[];
  /** It says that it contains text. */
  isText: boolean;
}

/**
 * All strings of a member's value that may be text, in order, and the names that a client has chosen.
 * @param member its name.
 * @throws SyntaxError.
 */
export function stringsIn(json: Buffer, member: string, { start, end }: { start: number; end: number }): Strings {
  let current: string[] = [];
  const elements = [current];
  const frames: Frame[] = [];
  let name = member;
  let at = start;
  while (at < end) {
    const frame = frames.at(-1);
    switch (json[at] ?? 0) {
      case QUOTE: {
        const stop = skipString(json, at);
        const next = skipSpace(json, stop);
        if (frame?.isArray === false && json[next] === COLON) {
          name = decodeName(json, at, stop);
          if (!isProtocolName(name)) current.push(name);
          at = next;
        } else {
          current.push(...readString(json, { at, stop, name, frame }));
          at = stop - 1;
        }
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET: {
        const isArray = json[at] === OPEN_BRACKET;
        const slots = frame?.isArray === true ? frame.slots : slotsIn(name, frame?.slots);
        frames.push({ isArray, name, slots, media: [], isText: false });
        if (!isArray) name = "";
        break;
      }
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        for (const each of frame?.isText === true ? frame.media : []) current.push(...readEitherCase(json, each));
        frames.pop();
        break;
      case COMMA:
        name = frame?.isArray === true ? frame.name : "";
        if (frames.length !== 1 || frame?.isArray !== true) break;
        current = [];
        elements.push(current);
        break;
      default:
        break;
    }
    at += 1;
  }
  return { whole: elements.flat(), elements: json[start] === OPEN_BRACKET ? elements : null };
}

interface FoundString {
  at: number;
  stop: number;
  /** Of its member. */
  name: string;
  frame: Frame | undefined;
}

/** @returns the text; none for the protocols' own words and for what is not text. */
function readString(json: Buffer, { at, stop, name, frame }: FoundString): string[] {
  const mayBeMedia = isMediaMember(name, frame?.slots);
  if (mayBeMedia && isMediaText(json.subarray(at + 1, stop - 1))) {
    // Sources of text have the same name for it. Whether this is one may follow.
    frame?.media.push({ at, stop });
    return [];
  }
  const decoded = decode(json, at, stop);
  const text = name === "arguments" ? unescapeArguments(decoded) : decoded;
  if (frame !== undefined && marksText(name, text)) frame.isText = true;
  if (isProtocolWord(name, text)) return [];
  const packed = unpacked(text);
  if (packed === null) return [text];
  if (!mayBeMedia) return [text, packed];
  // A source of text is read as it stands: its words may only look like a data URL.
  frame?.media.push({ at, stop });
  return [packed];
}

/** What says that it is text may be text, or base64 of text. */
function readEitherCase(json: Buffer, { at, stop }: { at: number; stop: number }): string[] {
  const text = decode(json, at, stop);
  return [text, decodeBase64(text)];
}

function decode(json: Buffer, at: number, stop: number): string {
  const text = json.toString("utf8", at + 1, stop - 1);
  if (!json.subarray(at, stop).includes(BACKSLASH)) return text;
  const parsed: unknown = JSON.parse(`"${text}"`);
  return String(parsed);
}
