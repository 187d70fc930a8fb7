import { createHash } from "node:crypto";

const MAX_LENGTH = 256;

/** Servers ask for an opaque id: what could be a person's address or number goes as its hash. */
export function opaqueUserId(id: string): string {
  const isOpaque = id.length <= MAX_LENGTH && !id.includes("@") && !/^[+\d][\d\s().-]{5,}$/.test(id);
  return isOpaque ? id : `user_${createHash("sha256").update(id).digest("hex")}`;
}
