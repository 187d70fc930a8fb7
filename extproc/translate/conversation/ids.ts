import { createHash } from "node:crypto";
import type { Profile } from "../../../contract/profile.ts";

/**
 * Ids that cross between the protocols, for both directions of translation. Nothing is remembered from one request to the next:
 * an id that must change carries its original inside, so that a replayed history gives the upstream its own ids back (prompt
 * caches hit) and two ids never become one.
 */

/** What the messages protocol allows in a tool id. */
const MESSAGES_ID = /^[a-zA-Z0-9_-]+$/;
/** Our ids that contain another one: the marker, one character for the form, the original. */
const MARKER = "toolu_gw";
const PLAIN = "0";
const SALTED = "1";
const UTF16 = "2";
const SALT_LENGTH = 12;
const SALTED_ID = /^toolu_gw1[0-9a-f]{12}/;

/**
 * An upstream's or a client's tool id in a form that the messages protocol can carry: unchanged if that is legal. Injective;
 * `originalToolId` is its inverse.
 */
export function messagesToolId(id: string): string {
  if (MESSAGES_ID.test(id) && !id.startsWith(MARKER)) return id;
  if (!id.isWellFormed()) return MARKER + UTF16 + Buffer.from(id, "utf16le").toString("base64url");
  return MARKER + PLAIN + Buffer.from(id).toString("base64url");
}

/** The same for an id that already occurs in the conversation: some servers count from `call_0` in every answer. */
export function saltedToolId(id: string, salt: { requestId: string; index: number }): string {
  return `${MARKER}${SALTED}${digest(`${salt.requestId}:${salt.index}`, SALT_LENGTH)}${messagesToolId(id)}`;
}

/** `msg_abc` ⇒ `chatcmpl-abc`, and any other id after `chatcmpl-`; one of ours if the server gave none. */
export function completionId(messageId: string, requestId: string): string {
  if (messageId === "" || messageId.length > 256) return `chatcmpl-${requestId.replaceAll("-", "")}`;
  return `chatcmpl-${messageId.startsWith("msg_") ? messageId.slice("msg_".length) : messageId}`;
}

/** The id inside one of ours; any other id unchanged. */
export function originalToolId(id: string): string {
  const salted = SALTED_ID.exec(id);
  if (salted === null) return plainToolId(id);
  const inner = id.slice(salted[0].length);
  return inner === "" || SALTED_ID.test(inner) ? id : plainToolId(inner);
}

/** A tool id for a call to which the upstream gave none, or one that it repeated in one answer. */
export function mintToolId(prefix: "toolu_" | "call_", salt: { requestId: string; index: number }): string {
  return prefix + digest(`tool:${salt.requestId}:${salt.index}`, 24);
}

/** An id for a response to which the upstream gave none. */
export function ownResponseId(requestId: string): string {
  return `resp_${requestId.replaceAll("-", "")}`;
}

/** An id for an item of a response to which the upstream gave none. */
export function mintItemId(salt: { requestId: string; position: number }): string {
  return `item_${digest(`item:${salt.requestId}:${salt.position}`, 24)}`;
}

const OPENAI_ID_LENGTH = 40;

/** OpenAI rejects tool ids over 40 characters. A longer one can't be restored, but always maps to the same id. */
export function shortToolId(id: string): string {
  return id.length <= OPENAI_ID_LENGTH ? id : hashedToolId(id);
}

function hashedToolId(id: string): string {
  return `call_${digest(`short:${id}`, 35)}`;
}

/** Ids that no server made: disambiguated by `flat-history.ts`, or marked by us and longer than some servers accept. */
function mustBeShort(id: string): boolean {
  return id.includes("\0") || (id.startsWith(MARKER) && id.length > OPENAI_ID_LENGTH);
}

/** The id of a tool call in a form that the server accepts. */
export function writeToolId(id: string, { toolIds }: Pick<Profile, "toolIds">): string {
  switch (toolIds) {
    case "any":
      return mustBeShort(id) ? hashedToolId(id) : id;
    case "openai40":
      return mustBeShort(id) ? hashedToolId(id) : shortToolId(id);
    case "messages":
      return messagesToolId(id);
  }
}

/** `chatcmpl-abc` ⇒ `msg_abc`, and any other id after `msg_`; one of ours if the upstream gave none. */
export function messageId(completionId: string, requestId: string): string {
  if (completionId === "" || completionId.length > 256) return `msg_${requestId.replaceAll("-", "")}`;
  return `msg_${completionId.startsWith("chatcmpl-") ? completionId.slice("chatcmpl-".length) : completionId}`;
}

/** The id inside one of ours that only had to be made legal; a salted id, or another's, unchanged. */
export function plainToolId(id: string): string {
  if (!id.startsWith(MARKER)) return id;
  const encoded = id.slice(MARKER.length + 1);
  if (id[MARKER.length] === PLAIN) return unlessForged(id, Buffer.from(encoded, "base64url").toString("utf8"));
  if (id[MARKER.length] === UTF16) return unlessForged(id, Buffer.from(encoded, "base64url").toString("utf16le"));
  return id;
}

/** An id that only looks like one of ours must come back unchanged. */
function unlessForged(id: string, original: string): string {
  return messagesToolId(original) === id ? original : id;
}

/** Letters and digits of a SHA-256: hexadecimal keeps it legal everywhere. */
function digest(text: string, length: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}
