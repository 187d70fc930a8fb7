import { parseDataUrl } from "../translate/conversation/data-url.ts";
import { originalToolId } from "../translate/conversation/ids.ts";
import { isTextual } from "../translate/conversation/media-text.ts";
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

/**
 * The text that is packed in another one: in a data URL, in reasoning that the gateway hands out, or in the id of a tool call, of which
 * servers get the original; null if there is none.
 */
export function unpacked(text: string): string | null {
  const data = parseDataUrl(text);
  if (data !== null && isTextual(data.mediaType)) return decodeBase64(data.base64);
  const id = originalToolId(text);
  return id === text ? (decodeThought(text)?.thinking ?? null) : id;
}

export function decodeBase64(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

function slotsOf(names: Readonly<Record<string, string>>): ReadonlyMap<string, MediaSlots> {
  return new Map(Object.entries(names).map(([holder, members]) => [holder, new Set(members.split(" "))]));
}
