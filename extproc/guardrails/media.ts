import { parseDataUrl } from "../translate/conversation/data-url.ts";
import { decodeThought } from "../translate/responses/thought.ts";

/**
 * Where the protocols have bytes that are not text: pictures, sound, files, and what only a model server can read. By the member
 * that holds an object or a list: the members that are such bytes. A member of the same name in arguments, in a schema or in a
 * text is the client's own, and a model reads it.
 */
const MEDIA_SLOTS = slotsOf({
  audio: "data",
  audio_url: "url",
  content: "data encrypted_content file_data image_url signature",
  extra_content: "",
  file: "file_data",
  google: "thought_signature",
  image_url: "url",
  images: "",
  input_audio: "data",
  output: "encrypted_content file_data image_url",
  reasoning_details: "data signature",
  source: "data",
  thinking_blocks: "data signature",
  tool_calls: "",
  video_url: "url",
});
/** The same for members of the request; within a turn, `input` is an argument. */
const ROOTS = slotsOf({ input: "encrypted_content", messages: "", references: "audio" });
/** Members of the request that are such bytes. */
const AT_ROOT: ReadonlySet<string> = new Set(["ref_audio"]);

/** Shorter ones are checked: they may be words. */
const MIN_MEDIA_BYTES = 128;
/** As JSON writes it: some programs escape slashes. */
const BASE64 = /^[\w+/=\\-]*$/;
const OTHER_ESCAPE = /\\[^/]/;
/** Of a data URL: nothing that is longer has one. */
const HEAD_BYTES = 1024;
const DATA_URL = /^data:([^,]*),/i;

/** Names of members of an object that may be media. */
export type MediaSlots = ReadonlySet<string>;

/**
 * Those of an object, or of the objects in a list.
 * @param member whose value it is.
 * @param outer of the object that has the member; undefined for the request itself.
 * @returns null if all in it is text.
 */
export function slotsIn(member: string, outer: MediaSlots | null | undefined): MediaSlots | null {
  if (outer === null) return null;
  return (outer === undefined ? ROOTS : MEDIA_SLOTS).get(member) ?? null;
}

/** @param slots of the object whose member it is; undefined for the request itself. */
export function isMediaMember(name: string, slots: MediaSlots | null | undefined): boolean {
  return (slots === undefined ? AT_ROOT : slots)?.has(name) === true;
}

/** Base64 of something that does not call itself text. @param bytes of a JSON string, without its quotes. */
export function isMedia(bytes: Buffer): boolean {
  const [head = "", facts] = DATA_URL.exec(bytes.toString("latin1", 0, HEAD_BYTES)) ?? [];
  if (facts === undefined) return bytes.length >= MIN_MEDIA_BYTES && isBase64(bytes);
  const [type = "", ...parameters] = facts.replaceAll("\\/", "/").split(";");
  if (/^(?:text\/|$)/i.test(type.trim()) || facts.replaceAll("\\/", "/").includes("\\")) return false;
  return parameters.at(-1)?.toLowerCase() === "base64" && isBase64(bytes.subarray(head.length));
}

/** The text that is packed in another one: in a data URL, or in reasoning that the gateway hands out; null if there is none. */
export function unpacked(text: string): string | null {
  const data = parseDataUrl(text);
  if (data?.mediaType.startsWith("text/") === true) return decodeBase64(data.base64);
  return decodeThought(text)?.thinking ?? null;
}

export function decodeBase64(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

function isBase64(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  return BASE64.test(text) && !OTHER_ESCAPE.test(text);
}

function slotsOf(names: Readonly<Record<string, string>>): ReadonlyMap<string, MediaSlots> {
  return new Map(Object.entries(names).map(([holder, members]) => [holder, new Set(members.split(" "))]));
}
