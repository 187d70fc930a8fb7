import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from "node:crypto";

/**
 * Encryption to whoever has a private key: the sender cannot open what it has sealed. X25519 with a key pair for each message,
 * HKDF-SHA256, and AES-256-GCM (as HPKE's base mode combines them; docs/decisions/0087).
 */

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = Buffer.from([1]);
const PURPOSE = "model-gateway sealed box 1";
/** What precedes the 32 bytes of a key in its DER form (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex");
const PUBLIC_PREFIX = Buffer.from("302a300506032b656e032100", "hex");

/** A private key and what follows from it. */
export interface BoxKey {
  /** Names it beside a sealed value. */
  id: string;
  /** 32 bytes. */
  publicKey: Buffer;
  privateKey: KeyObject;
}

/** @param secret 32 random bytes. */
export function boxKey(secret: Buffer): BoxKey {
  if (secret.length !== KEY_BYTES) throw new RangeError(`a private key has ${KEY_BYTES} bytes`);
  const privateKey = createPrivateKey({ key: Buffer.concat([PRIVATE_PREFIX, secret]), format: "der", type: "pkcs8" });
  const publicKey = rawOf(createPublicKey(privateKey));
  return { id: boxKeyId(publicKey), publicKey, privateKey };
}

export function boxKeyId(publicKey: Buffer): string {
  return createHash("sha256").update(publicKey).digest("hex").slice(0, 16);
}

/** @param about what the value is and whose: it opens only with the same. */
export function sealTo(publicKey: Buffer, text: string, about: string): Buffer {
  const recipient = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, publicKey]), format: "der", type: "spki" });
  const sender = generateKeyPairSync("x25519");
  const senderKey = rawOf(sender.publicKey);
  const shared = diffieHellman({ privateKey: sender.privateKey, publicKey: recipient });
  const { key, nonce } = derive(shared, senderKey, publicKey);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(about));
  const encrypted = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([VERSION, senderKey, cipher.getAuthTag(), encrypted]);
}

/** @returns undefined for what was sealed to another key, about something else, or not at all. */
export function openSealed({ privateKey, publicKey }: BoxKey, sealed: Buffer, about: string): string | undefined {
  const tagAt = VERSION.length + KEY_BYTES;
  if (sealed.length < tagAt + TAG_BYTES || !sealed.subarray(0, VERSION.length).equals(VERSION)) return undefined;
  const senderKey = sealed.subarray(VERSION.length, tagAt);
  try {
    const sender = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, senderKey]), format: "der", type: "spki" });
    const { key, nonce } = derive(diffieHellman({ privateKey, publicKey: sender }), senderKey, publicKey);
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(about))
      .setAuthTag(sealed.subarray(tagAt, tagAt + TAG_BYTES));
    return Buffer.concat([decipher.update(sealed.subarray(tagAt + TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    // Not authentic: nothing in the reason helps the caller.
    return undefined;
  }
}

/** The sender's key pair is used once, so the nonce may follow from it. */
function derive(shared: Buffer, senderKey: Buffer, recipientKey: Buffer): { key: Buffer; nonce: Buffer } {
  const salt = Buffer.concat([senderKey, recipientKey]);
  const bytes = Buffer.from(hkdfSync("sha256", shared, salt, PURPOSE, KEY_BYTES + NONCE_BYTES));
  return { key: bytes.subarray(0, KEY_BYTES), nonce: bytes.subarray(KEY_BYTES) };
}

function rawOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: "der", type: "spki" }).subarray(PUBLIC_PREFIX.length);
}
