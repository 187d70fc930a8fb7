import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes } from "node:crypto";

/** Encrypts data that only this installation may read: AES-256-GCM with a key derived from the pepper. */
export interface Sealer {
  /** @param about must be the same when it is opened, such as the id of its owner. */
  seal(plain: Buffer, about: string): Buffer;
  /** @returns undefined for a value that was not sealed, or sealed with another `about`, pepper or purpose. */
  unseal(sealed: Buffer, about: string): Buffer | undefined;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Bytes that sealing adds to a text. */
const SEAL_BYTES = NONCE_BYTES + TAG_BYTES;

/** @param purpose separates the keys that are derived from one pepper. */
export function createSealer(pepper: Buffer, purpose: string): Sealer {
  // With the bytes in its place, each use takes 23 µs instead of 6.
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", pepper, "", purpose, 32)));
  return {
    seal(plain, about) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(about));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    unseal(sealed, about) {
      if (sealed.length < SEAL_BYTES) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(about))
        .setAuthTag(sealed.subarray(-TAG_BYTES));
      try {
        const plain = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
        // Returns no bytes, but verifies the tag.
        decipher.final();
        return plain;
      } catch {
        return undefined;
      }
    },
  };
}
