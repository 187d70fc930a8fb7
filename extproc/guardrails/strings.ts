import { decodeName, skipSpace, skipString } from "../protocol/json/scan.ts";

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
  /** Of the member whose value it is. */
  name: string;
  /** Where strings are that seem to be base64. */
  opaque: { at: number; stop: number }[];
  /** It says that it contains text. */
  isText: boolean;
}

/** Names of the protocols; others, such as those of arguments, are a client's own words. */
const STRUCTURE: ReadonlySet<string> = new Set(
  `additionalProperties annotations anyOf arguments audio b64_json budget_tokens cache_control call_id citations content context data
description detail documents effort encrypted_content enum file file_data file_id filename format function id image_url images input
input_audio input_schema items json_schema media_type messages name oneOf output parameters parts properties reasoning
required role schema signature source status strict summary system text thinking title tool_call_id tool_calls tool_use_id
tools type url`.split(/\s+/),
);

/** Their values are words of the protocols, if they look like it. */
const IDENTIFIERS: ReadonlySet<string> = new Set(
  `call_id detail effort file_id format id media_type object phase role status tool_call_id tool_use_id ttl type`.split(" "),
);
const IDENTIFIER = /^[\w.:/+-]{1,64}$/;

/** Members with base64, of bytes that are not text: pictures, sound, files, and what only a model server can read. */
const OPAQUE: ReadonlySet<string> = new Set(
  "audio b64_json data encrypted_content file_data image images signature thought_signature".split(" "),
);
/** Shorter ones are checked: they may be words. */
const MIN_OPAQUE_BYTES = 128;
/** As JSON writes it: some programs escape slashes. */
const BASE64 = /^[\w+/=\\-]*$/;
const DATA_URL = /^data:([^,;]*)(?:;[^,;]*)*?;base64,/i;
const HEAD_BYTES = 256;

/** All strings of a JSON value that may be text, in order, and the names that a client has chosen. @throws SyntaxError. */
export function stringsIn(json: Buffer, { start, end }: { start: number; end: number }): Strings {
  let current: string[] = [];
  const elements = [current];
  const frames: Frame[] = [];
  let name = "";
  let at = start;
  while (at < end) {
    const frame = frames.at(-1);
    switch (json[at] ?? 0) {
      case QUOTE: {
        const stop = skipString(json, at);
        const next = skipSpace(json, stop);
        if (frame?.isArray === false && json[next] === COLON) {
          name = decodeName(json, at, stop);
          if (!STRUCTURE.has(name)) current.push(name);
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
        frames.push({ isArray, name, opaque: [], isText: false });
        if (!isArray) name = "";
        break;
      }
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (frame?.isText === true) for (const each of frame.opaque) current.push(decode(json, each.at, each.stop));
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

/** @returns the text; none for identifiers and for what is not text. */
function readString(json: Buffer, { at, stop, name, frame }: FoundString): string[] {
  const bytes = json.subarray(at + 1, stop - 1);
  if (IDENTIFIERS.has(name) && bytes.length <= HEAD_BYTES) {
    const word = decode(json, at, stop);
    if (!IDENTIFIER.test(word)) return [word];
    if (frame !== undefined && (word === "text" || word.startsWith("text/"))) frame.isText = true;
    return [];
  }
  const [prefix, media = ""] = DATA_URL.exec(bytes.toString("latin1", 0, HEAD_BYTES)) ?? [];
  if (prefix !== undefined) {
    const payload = bytes.subarray(prefix.length);
    const type = media.replaceAll("\\/", "/");
    if (!isBase64(payload) || type.includes("\\")) return [decode(json, at, stop)];
    return /^(text\/|$)/i.test(type) ? [Buffer.from(payload.toString("latin1"), "base64").toString("utf8")] : [];
  }
  if (!OPAQUE.has(name) || bytes.length < MIN_OPAQUE_BYTES || !isBase64(bytes)) return [decode(json, at, stop)];
  // Sources of text have the same name for it. Whether this is one may follow.
  frame?.opaque.push({ at, stop });
  return [];
}

function isBase64(bytes: Buffer): boolean {
  return BASE64.test(bytes.toString("latin1"));
}

function decode(json: Buffer, at: number, stop: number): string {
  const text = json.toString("utf8", at + 1, stop - 1);
  if (!json.subarray(at, stop).includes(BACKSLASH)) return text;
  const parsed: unknown = JSON.parse(`"${text}"`);
  return String(parsed);
}
