import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database.ts";
import { countAttempt, forgiveAttempt, secondFactorAttempt } from "./attempts.ts";
import { seal, unseal } from "./sealed.ts";
import { hashToken } from "./token.ts";

/** One step of 30 seconds before and after: clocks differ. */
const WINDOW = 1;
const PERIOD_SECONDS = 30;
const RECOVERY_CODES = 10;

interface Setting {
  personId: string;
  pepper: Buffer;
}

/** A secret that is not in force before a code of it was shown. */
export interface TotpOffer {
  /** For the form that brings it back. */
  sealed: string;
  /** In base32, to type in. */
  secret: string;
  /** `otpauth://…`, to scan. */
  uri: string;
}

export function offerTotp({ personId, pepper, email }: Setting & { email: string }): TotpOffer {
  const secret = new Secret({ size: 20 }).base32;
  return describeTotp({ secret, sealed: seal(secret, { pepper, about: personId }).toString("base64url"), email });
}

/** The same again, after a wrong code. @throws GatewayError `invalid_request` for what was not offered to this person. */
export function reofferTotp({ sealed, email, ...setting }: Setting & { sealed: string; email: string }): TotpOffer {
  return describeTotp({ secret: openOffer({ sealed, ...setting }), sealed, email });
}

function describeTotp({ secret, sealed, email }: { secret: string; sealed: string; email: string }): TotpOffer {
  return { secret, sealed, uri: new TOTP({ issuer: "Model Gateway", label: email, secret }).toString() };
}

function openOffer({ sealed, personId, pepper }: Setting & { sealed: string }): string {
  const secret = unseal(Buffer.from(sealed, "base64url"), { pepper, about: personId });
  if (secret === undefined) throw new GatewayError("invalid_request", "Load the page again, and scan the new picture.");
  return secret;
}

/**
 * Puts an offer in force.
 * @returns recovery codes, which exist nowhere else.
 * @throws GatewayError `invalid_request` with field `code` for a wrong code.
 */
export async function enableTotp(database: Database, offer: Setting & { sealed: string; code: string }): Promise<string[]> {
  const { personId, pepper } = offer;
  const secret = openOffer(offer);
  const counter = counterOf(secret, offer.code);
  if (counter === undefined) throw wrongCode();
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    randomBytes(8)
      .toString("hex")
      .replaceAll(/(.{4})(?=.)/g, "$1-"),
  );
  await database.transaction(async (transaction) => {
    const made = await transaction.execute(
      "INSERT INTO person_totp (person_id, sealed_secret, last_counter) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      [personId, seal(secret, { pepper, about: personId }), counter],
    );
    if (made === 0) throw new GatewayError("invalid_request", "The second factor is on already.");
    await transaction.execute("INSERT INTO recovery_code (code_hash, person_id) SELECT unnest($1::bytea[]), $2", [
      codes.map(hashOf),
      personId,
    ]);
  });
  return codes;
}

/**
 * A code of the app, or a recovery code: each counts once.
 * @throws GatewayError `permission_denied` with field `code`; `rate_limited` after too many wrong ones.
 */
export async function checkSecondFactor(
  database: Database,
  { personId, pepper, code }: Setting & { code: string },
): Promise<void> {
  const attempt = secondFactorAttempt(personId);
  await countAttempt(database, attempt);
  if (!(await useTotp(database, { personId, pepper, code })) && !(await useRecoveryCode(database, personId, code)))
    throw wrongCode();
  await forgiveAttempt(database, attempt);
}

async function useTotp(database: Queryable, { personId, pepper, code }: Setting & { code: string }): Promise<boolean> {
  const [stored] = await database.query({
    text: `SELECT sealed_secret AS sealed FROM person_totp WHERE person_id = $1`,
    values: [personId],
    row: z.strictObject({ sealed: z.instanceof(Buffer) }),
  });
  const secret = stored === undefined ? undefined : unseal(stored.sealed, { pepper, about: personId });
  const counter = secret === undefined ? undefined : counterOf(secret, code);
  if (counter === undefined) return false;
  const used = await database.execute("UPDATE person_totp SET last_counter = $2 WHERE person_id = $1 AND last_counter < $2", [
    personId,
    counter,
  ]);
  return used > 0;
}

async function useRecoveryCode(database: Queryable, personId: string, code: string): Promise<boolean> {
  return (
    (await database.execute("DELETE FROM recovery_code WHERE person_id = $1 AND code_hash = $2", [personId, hashOf(code)])) > 0
  );
}

/** How many of them are left. */
export async function countRecoveryCodes(database: Queryable, personId: string): Promise<number> {
  return database.execute("SELECT FROM recovery_code WHERE person_id = $1", [personId]);
}

/** The app's codes and the recovery codes count no more. */
export async function disableSecondFactor(database: Queryable, personId: string): Promise<void> {
  await database.execute("DELETE FROM recovery_code WHERE person_id = $1", [personId]);
  await database.execute("DELETE FROM person_totp WHERE person_id = $1", [personId]);
}

/** Of a code that is right about now; undefined for all others. */
function counterOf(secret: string, code: string): number | undefined {
  const token = code.replaceAll(/\s/g, "");
  if (!/^\d{6}$/.test(token)) return undefined;
  const totp = new TOTP({ secret, period: PERIOD_SECONDS });
  const delta = totp.validate({ token, window: WINDOW });
  return delta === null ? undefined : totp.counter() + delta;
}

/** 64 random bits: capitals, spaces and dashes do not matter. */
function hashOf(code: string): Buffer {
  return hashToken(`recovery ${code.toLowerCase().replaceAll(/[^0-9a-f]/g, "")}`);
}

function wrongCode(): GatewayError {
  return new GatewayError("permission_denied", "This code is wrong, or was used already. Wait for the next one.", {
    field: "code",
  });
}
