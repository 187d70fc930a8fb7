import { createHmac, randomBytes as systemRandomBytes, timingSafeEqual, type KeyObject } from "node:crypto";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { encodeAccess, type KeyAccess } from "../../contract/key-access.ts";
import type { Queryable } from "../postgres/database.ts";
import { hasRoomForKey, TOO_MANY_KEYS } from "./key-bounds.ts";
import { isManagementToken } from "../people/management-tokens.ts";

/**
 * A credential as a client sent it. "masked" is the form that pages show, which is not a credential (S18); "management" is a
 * token that manages an account and calls no model.
 */
export type ParsedApiKey =
  | { kind: "key"; publicId: string; secret: string }
  | { kind: "masked" }
  | { kind: "management" }
  | { kind: "malformed" };

const PREFIX = "sk-mg-";
const PUBLIC_ID_LENGTH = 12;
/** 43 base62 characters carry 256 bits. */
const SECRET_LENGTH = 43;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const FORM = new RegExp(`^${PREFIX}([0-9A-Za-z]{${PUBLIC_ID_LENGTH}})([0-9A-Za-z]{${SECRET_LENGTH}})$`);

const PUBLIC_ID_FORM = new RegExp(`^[0-9A-Za-z]{${PUBLIC_ID_LENGTH}}$`);

/** Reads `sk-mg-` + public id + secret (S24). */
export function parseApiKey(text: string): ParsedApiKey {
  const match = FORM.exec(text);
  if (match?.[1] !== undefined && match[2] !== undefined) return { kind: "key", publicId: match[1], secret: match[2] };
  if (isManagementToken(text)) return { kind: "management" };
  return text.startsWith(PREFIX) && /\*|…|\.\.\./.test(text) ? { kind: "masked" } : { kind: "malformed" };
}

export function isPublicId(text: string): boolean {
  return PUBLIC_ID_FORM.test(text);
}

export interface MintedApiKey {
  publicId: string;
  secret: string;
  /** The full value, shown only once. */
  value: string;
}

/** A new key from a source of random bytes. */
export function mintApiKey(randomBytes: (size: number) => Buffer): MintedApiKey {
  const publicId = randomBase62(PUBLIC_ID_LENGTH, randomBytes);
  const secret = randomBase62(SECRET_LENGTH, randomBytes);
  return { publicId, secret, value: `${PREFIX}${publicId}${secret}` };
}

/** Another value for an existing key: its public id with a new secret, for `replaceSecret`. */
export function renewApiKey(publicId: string, randomBytes: (size: number) => Buffer): MintedApiKey {
  const secret = randomBase62(SECRET_LENGTH, randomBytes);
  return { publicId, secret, value: `${PREFIX}${publicId}${secret}` };
}

/** The display form, `sk-mg-AbCd****WxYz`: both ends of the public id, so that it shows no part of the secret (S24). */
export function maskApiKey(publicId: string): string {
  return `${PREFIX}${publicId.slice(0, 4)}****${publicId.slice(-4)}`;
}

/** The key of the keyed hash. As a KeyObject it is prepared once, not for every hash, which saves a third of the time. */
export type Pepper = Buffer | KeyObject;

/**
 * The keyed hash that is stored instead of the secret. A secret has 256 random bits, so nothing slower is needed; the pepper
 * makes a stolen table useless by itself.
 */
export function hashSecret(pepper: Pepper, secret: string): Buffer {
  return createHmac("sha256", pepper).update(secret).digest();
}

/** The stored data of a key's secret. */
export interface StoredSecret {
  secretHash: Buffer;
  /** The previous one, while it is still accepted. */
  previousSecret: { hash: Buffer; until: Date } | null;
}

/** Is this the key's secret, or the previous one while that is accepted? Compares in constant time. */
export function isSecretOf(
  { secretHash, previousSecret }: StoredSecret,
  { secret, pepper, nowMs }: { secret: string; pepper: Pepper; nowMs: number },
): boolean {
  const hash = hashSecret(pepper, secret);
  if (isEqual(hash, secretHash)) return true;
  return previousSecret !== null && nowMs < previousSecret.until.getTime() && isEqual(hash, previousSecret.hash);
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

export interface NewApiKey {
  accountId: string;
  /** The owner's name for it. */
  name: string;
  pepper: Buffer;
  /** If absent, it never expires. */
  expiresAt?: Date | null;
  /** Names of models; all if absent. */
  allowedModels?: readonly string[] | null;
  /** From anywhere if absent. */
  access?: KeyAccess;
  /** Prompts and answers are not recorded if absent. */
  promptLogDays?: number | null;
  randomBytes?: (size: number) => Buffer;
}

/**
 * Creates a key and stores its hash. The returned value is not stored anywhere.
 * @throws GatewayError `not_found` if there is no such account; `invalid_request` if it has the maximum number of keys.
 */
export async function createApiKey(
  database: Queryable,
  { accountId, name, pepper, expiresAt, allowedModels, access, promptLogDays, randomBytes = systemRandomBytes }: NewApiKey,
): Promise<{ publicId: string; value: string }> {
  if (!(await hasRoomForKey(database, accountId))) throw new GatewayError("invalid_request", TOO_MANY_KEYS);
  const { publicId, secret, value } = mintApiKey(randomBytes);
  const created = await database.execute(
    `INSERT INTO api_key (public_id, account_id, name, secret_hash, expires_at, allowed_models, limits, prompt_log_days)
     SELECT $1, id, $3, $4, $5, $6, $7::jsonb, $8::smallint FROM account WHERE id = $2`,
    [
      publicId,
      accountId,
      name,
      hashSecret(pepper, secret),
      expiresAt ?? null,
      allowedModels ?? null,
      JSON.stringify(access === undefined ? {} : encodeAccess(access)),
      promptLogDays ?? null,
    ],
  );
  if (created === 0) throw new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
  return { publicId, value };
}

const storedRow = z.strictObject({
  secretHash: z.instanceof(Buffer),
  previousHash: z.instanceof(Buffer).nullable(),
  previousUntil: z.date().nullable(),
});

/** Would this value be accepted now, according to the stored data? */
export async function isKeyInForce(database: Queryable, { value, pepper }: { value: string; pepper: Pepper }): Promise<boolean> {
  const parsed = parseApiKey(value);
  if (parsed.kind !== "key") return false;
  const [stored] = await database.query({
    text: `SELECT secret_hash AS "secretHash", previous_secret_hash AS "previousHash", previous_until AS "previousUntil" FROM api_key
           WHERE public_id = $1 AND revoked_at IS NULL AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    values: [parsed.publicId],
    row: storedRow,
  });
  if (stored === undefined) return false;
  const { secretHash, previousHash, previousUntil } = stored;
  const previousSecret = previousHash === null || previousUntil === null ? null : { hash: previousHash, until: previousUntil };
  return isSecretOf({ secretHash, previousSecret }, { secret: parsed.secret, pepper, nowMs: Date.now() });
}

export interface Rotation {
  publicId: string;
  pepper: Buffer;
  /** How long the current secret is still accepted; null: not at all. One more rotation ends it at once. */
  previousUntil: Date | null;
}

/**
 * Gives a key a new secret. Public id, limits and usage are unchanged.
 * @returns the new value, which is not stored anywhere.
 * @throws GatewayError `not_found` if there is no such key, or it was deleted.
 */
export async function rotateApiKey(
  database: Queryable,
  { randomBytes = systemRandomBytes, ...rotation }: Rotation & { randomBytes?: (size: number) => Buffer },
): Promise<{ value: string }> {
  const secret = randomBase62(SECRET_LENGTH, randomBytes);
  if (!(await replaceSecret(database, { ...rotation, secret })))
    throw new GatewayError("not_found", "There is no such key, or it was deleted.", { field: "publicId" });
  return { value: `${PREFIX}${rotation.publicId}${secret}` };
}

/**
 * The same with a secret created elsewhere. If it is the current one, nothing changes.
 * @returns whether anything changed.
 */
export async function replaceSecret(
  database: Queryable,
  { publicId, secret, pepper, previousUntil }: Rotation & { secret: string },
): Promise<boolean> {
  const changed = await database.execute(
    `UPDATE api_key SET secret_hash = $2, previous_until = $3,
       previous_secret_hash = CASE WHEN $3::timestamptz IS NULL THEN NULL ELSE secret_hash END
     WHERE public_id = $1 AND revoked_at IS NULL AND secret_hash <> $2`,
    [publicId, hashSecret(pepper, secret), previousUntil],
  );
  return changed > 0;
}

/** Deletes a key permanently; its row stays, because usage refers to it. @returns false when it was already deleted. */
export async function revokeApiKey(database: Queryable, publicId: string): Promise<boolean> {
  const revoked = await database.execute("UPDATE api_key SET revoked_at = now() WHERE public_id = $1 AND revoked_at IS NULL", [
    publicId,
  ]);
  return revoked > 0;
}

/** Bytes from 248 up are discarded: 248 is the largest multiple of 62 in a byte, so each character is equally likely. */
function randomBase62(length: number, randomBytes: (size: number) => Buffer): string {
  const unbiased = 256 - (256 % ALPHABET.length);
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < unbiased) text += ALPHABET.charAt(byte % ALPHABET.length);
    }
  }
  return text;
}
