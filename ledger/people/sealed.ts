import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts for this service's own use; `about` must be the same again to open it: whose it is, for instance. */
export function seal(text: string, { pepper, about }: { pepper: Buffer; about: string }): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", keyOf(pepper), nonce).setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** @returns undefined for what was sealed about something else, under another pepper, or not at all. */
export function unseal(sealed: Buffer, { pepper, about }: { pepper: Buffer; about: string }): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv("aes-256-gcm", keyOf(pepper), sealed.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(about))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}

function keyOf(pepper: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", pepper, "", "sealed secrets of people", 32));
}
