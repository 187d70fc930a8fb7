import { Secret, TOTP } from "otpauth";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { countAttempt, forgiveAttempt, secondFactorAttempt } from "./attempts.ts";
import { prepareFactor, settleFactors } from "./factors.ts";
import { useRecoveryCode } from "./recovery-codes.ts";
import { seal, unseal } from "../people/sealed.ts";

/** One step of 30 seconds before and after: clocks differ. */
const WINDOW = 1;
const PERIOD_SECONDS = 30;

interface Setting {
  personId: string;
  pepper: Buffer;
}

/** A secret that takes effect once the person has entered one of its codes. */
export interface TotpOffer {
  /** For the form that returns it. */
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

/** The same secret again, after a wrong code. @throws GatewayError `invalid_request` for a secret not offered to this person. */
export function reofferTotp({ sealed, email, ...setting }: Setting & { sealed: string; email: string }): TotpOffer {
  return describeTotp({ secret: openOffer({ sealed, ...setting }), sealed, email });
}

function describeTotp({ secret, sealed, email }: { secret: string; sealed: string; email: string }): TotpOffer {
  return { secret, sealed, uri: new TOTP({ issuer: "Model Gateway", label: email, secret }).toString() };
}

function openOffer({ sealed, personId, pepper }: Setting & { sealed: string }): string {
  const secret = unseal(Buffer.from(sealed, "base64url"), { pepper, about: personId });
  if (secret === undefined) throw new GatewayError("invalid_request", "Reload the page, and scan the new QR code.");
  return secret;
}

/**
 * Puts an offer in force.
 * @returns recovery codes with the first factor, which are not stored anywhere; null if the person has them already.
 * @throws GatewayError `permission_denied` with field `code` for a wrong code.
 */
export async function enableTotp(
  database: Database,
  offer: Setting & { sealed: string; code: string },
): Promise<string[] | null> {
  const { personId, pepper } = offer;
  const secret = openOffer(offer);
  const counter = counterOf(secret, offer.code);
  if (counter === undefined) throw wrongCode();
  return database.transaction(async (transaction) => {
    const codes = await prepareFactor(transaction, personId);
    const made = await transaction.execute(
      "INSERT INTO person_totp (person_id, sealed_secret, last_counter) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
      [personId, seal(secret, { pepper, about: personId }), counter],
    );
    if (made === 0) throw new GatewayError("invalid_request", "The authenticator app is already set up.");
    return codes;
  });
}

/**
 * A code of the app, or a recovery code: each is valid once.
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

/** The app's codes become invalid. @returns false if there was no app. */
export async function disableTotp(database: Database, personId: string): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const removed = await transaction.execute("DELETE FROM person_totp WHERE person_id = $1", [personId]);
    await settleFactors(transaction, personId);
    return removed > 0;
  });
}

/** The time step of a code that is valid about now; undefined for all others. */
function counterOf(secret: string, code: string): number | undefined {
  const token = code.replaceAll(/\s/g, "");
  if (!/^\d{6}$/.test(token)) return undefined;
  const totp = new TOTP({ secret, period: PERIOD_SECONDS });
  const delta = totp.validate({ token, window: WINDOW });
  return delta === null ? undefined : totp.counter() + delta;
}

function wrongCode(): GatewayError {
  return new GatewayError("permission_denied", "This code is wrong or was already used. Wait for the next one.", {
    field: "code",
  });
}
