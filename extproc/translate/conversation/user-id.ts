import { createHash } from "node:crypto";

const MAX_LENGTH = 256;
/** Of chat and Responses. */
const MAX_SHORT_LENGTH = 64;

/** Servers ask for an opaque id: a value that could be a person's address or number is sent as its hash. */
export function opaqueUserId(id: string): string {
  const isOpaque = id.length <= MAX_LENGTH && !id.includes("@") && !/^[+\d][\d\s().-]{5,}$/.test(id);
  return isOpaque ? id : `user_${createHash("sha256").update(id).digest("hex")}`;
}

/** Agents send hundreds of characters, chat and Responses accept 64: the same user keeps the same name. */
export function shortUserId(id: string): string {
  return id.length <= MAX_SHORT_LENGTH ? id : createHash("sha256").update(id).digest("hex");
}
