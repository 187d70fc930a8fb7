import { GatewayError } from "../../contract/errors.ts";
import { admitOwnChange } from "../people/audit.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { makeRecoveryCodes } from "./recovery-codes.ts";

/** A person's second factors together: codes of an app, passkeys, and the recovery codes that stand in for both. */

/**
 * Call it in the transaction that adds a factor, before it is added.
 * @returns recovery codes with the first factor, which are not stored anywhere; null if the person has them already.
 * @throws GatewayError as `admitOwnChange`.
 */
export async function prepareFactor(transaction: Queryable, personId: string): Promise<string[] | null> {
  // One at a time: two concurrent first factors would each create codes.
  await admitOwnChange(transaction, personId);
  return (await hasFactor(transaction, personId)) ? null : makeRecoveryCodes(transaction, personId);
}

/**
 * Call it in the transaction that removed a factor. Without any, recovery codes are invalid, and so are the proofs of sessions
 * and tokens.
 */
export async function settleFactors(transaction: Queryable, personId: string): Promise<void> {
  if (await hasFactor(transaction, personId)) return;
  await transaction.execute("DELETE FROM recovery_code WHERE person_id = $1", [personId]);
  await transaction.execute("UPDATE session SET has_second_factor = false WHERE person_id = $1", [personId]);
  await transaction.execute("UPDATE management_token SET has_second_factor = false WHERE created_by = $1", [personId]);
}

/** @throws GatewayError `invalid_request` for a person without a second factor, who needs no codes; as `admitOwnChange`. */
export async function renewRecoveryCodes(database: Database, personId: string): Promise<string[]> {
  return database.transaction(async (transaction) => {
    await admitOwnChange(transaction, personId);
    if (await hasFactor(transaction, personId)) return makeRecoveryCodes(transaction, personId);
    throw new GatewayError("invalid_request", "Set up a second factor first: recovery codes come with it.");
  });
}

/** Removes all of them. */
export async function dropFactors(transaction: Queryable, personId: string): Promise<void> {
  await transaction.execute("DELETE FROM person_totp WHERE person_id = $1", [personId]);
  await transaction.execute("DELETE FROM passkey WHERE person_id = $1", [personId]);
  await settleFactors(transaction, personId);
}

async function hasFactor(transaction: Queryable, personId: string): Promise<boolean> {
  const found = await transaction.execute(
    "SELECT FROM person_totp WHERE person_id = $1 UNION ALL SELECT FROM passkey WHERE person_id = $1 LIMIT 1",
    [personId],
  );
  return found > 0;
}
