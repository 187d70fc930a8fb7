import { createHash, randomBytes } from "node:crypto";

/** A bearer token: 256 random bits, of which only the hash is stored. */
export function mintToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString("base64url");
  return { token, hash: hashToken(token) };
}

/** Is this the hash of one, in hex, as pages identify it? */
export function isTokenId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
