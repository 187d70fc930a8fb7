import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { prepareFactor, settleFactors } from "./factors.ts";
import { checkPersonName } from "../people/person-name.ts";
import { hashToken } from "../people/token.ts";

/** The public half of a key that one person's device, or password manager, keeps. */
export interface Passkey {
  /** UUIDv7: identifies it on pages. */
  id: string;
  personId: string;
  /** The authenticators' name for it. */
  credentialId: Buffer;
  /** In COSE form. */
  publicKey: Buffer;
  signCount: number;
  transports: readonly string[];
  name: string;
  createdAt: Date;
  lastUsedAt: Date | null;
}

export type NewPasskey = Pick<Passkey, "personId" | "credentialId" | "publicKey" | "signCount" | "transports" | "name">;

const COLUMNS = `id, person_id AS "personId", credential_id AS "credentialId", public_key AS "publicKey",
  sign_count::float8 AS "signCount", transports, name, created_at AS "createdAt", last_used_at AS "lastUsedAt"`;
const passkeyRow = z.strictObject({
  id: z.string(),
  personId: z.string(),
  credentialId: z.instanceof(Buffer),
  publicKey: z.instanceof(Buffer),
  signCount: z.int(),
  transports: z.array(z.string()),
  name: z.string(),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
});

/**
 * @returns recovery codes with the first factor, which are not stored anywhere; null if the person has them already.
 * @throws GatewayError `invalid_request` for an invalid name, an existing passkey, or too many.
 */
export async function addPasskey(database: Database, passkey: NewPasskey): Promise<string[] | null> {
  const name = checkPersonName(passkey.name);
  const { personId, credentialId, publicKey, signCount, transports } = passkey;
  return database.transaction(async (transaction) => {
    const codes = await prepareFactor(transaction, personId);
    if ((await listPasskeys(transaction, personId)).length >= ACCOUNT_BOUNDS.passkeysOfPerson)
      throw new GatewayError(
        "invalid_request",
        `A person can have at most ${ACCOUNT_BOUNDS.passkeysOfPerson} passkeys. Remove one that you no longer use first.`,
      );
    const made = await transaction.execute(
      `INSERT INTO passkey (id, person_id, credential_id, public_key, sign_count, transports, name)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
      [uuidv7(), personId, credentialId, publicKey, signCount, transports, name],
    );
    if (made === 0) throw new GatewayError("invalid_request", "This passkey was already added.");
    return codes;
  });
}

/** A person's, oldest first. */
export async function listPasskeys(database: Queryable, personId: string): Promise<Passkey[]> {
  return database.query({
    text: `SELECT ${COLUMNS} FROM passkey WHERE person_id = $1 ORDER BY id`,
    values: [personId],
    row: passkeyRow,
  });
}

export async function findPasskey(database: Queryable, credentialId: Buffer): Promise<Passkey | undefined> {
  const [passkey] = await database.query({
    text: `SELECT ${COLUMNS} FROM passkey WHERE credential_id = $1`,
    values: [credentialId],
    row: passkeyRow,
  });
  return passkey;
}

/**
 * A passkey has answered a challenge.
 * @returns false if the challenge was answered before, or the count indicates a copy of the passkey: the answer is invalid then.
 */
export async function usePasskey(
  database: Database,
  { id, signCount, challenge, expiresAt }: Pick<Passkey, "id" | "signCount"> & { challenge: string; expiresAt: Date },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const isFirst = await transaction.execute(
      "INSERT INTO answered_challenge (challenge_hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
      [hashToken(`challenge ${challenge}`), expiresAt],
    );
    if (isFirst === 0) return false;
    const used = await transaction.execute(
      "UPDATE passkey SET sign_count = $2, last_used_at = now() WHERE id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))",
      [id, signCount],
    );
    return used > 0;
  });
}

/** @returns its name. @throws GatewayError `not_found` for one that is not the person's. */
export async function removePasskey(database: Database, { personId, id }: Pick<Passkey, "personId" | "id">): Promise<string> {
  return database.transaction(async (transaction) => {
    const [removed] = z.uuid().safeParse(id).success
      ? await transaction.query({
          text: "DELETE FROM passkey WHERE person_id = $1 AND id = $2 RETURNING name",
          values: [personId, id],
          row: z.strictObject({ name: z.string() }),
        })
      : [];
    if (removed === undefined) throw new GatewayError("not_found", "You have no such passkey.");
    await settleFactors(transaction, personId);
    return removed.name;
  });
}
