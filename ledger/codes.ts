import { createHmac, randomBytes as systemRandomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { GatewayError } from "../contract/errors.ts";
import type { Database, Queryable } from "./database.ts";
import { postCreditIn, type PostedCredit } from "./entries.ts";

/** Without letters and digits that are read as others; 20 of them carry 100 bits. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH = 20;
const GROUP = 5;

export interface NewRedeemCode {
  amountNanoUsd: bigint;
  pepper: Buffer;
  expiresAt?: Date;
  note?: string;
  randomBytes?: (size: number) => Buffer;
}

/**
 * Makes a code, `XXXXX-XXXXX-XXXXX-XXXXX`, and stores its hash. The returned code exists nowhere else.
 * @throws GatewayError `invalid_request` for an amount that is not above zero.
 */
export async function createRedeemCode(
  database: Queryable,
  { amountNanoUsd, pepper, expiresAt, note, randomBytes = systemRandomBytes }: NewRedeemCode,
): Promise<{ id: string; code: string }> {
  if (amountNanoUsd <= 0n)
    throw new GatewayError("invalid_request", "A code needs an amount above zero.", { field: "amountNanoUsd" });
  const id = uuidv7();
  // 32 characters: five bits of each byte choose one, all equally likely.
  const characters = Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join("");
  await database.execute(
    "INSERT INTO redeem_code (id, code_hash, amount_nano_usd, note, expires_at) VALUES ($1, $2, $3, $4, $5)",
    [id, hashCode(pepper, characters), amountNanoUsd, note ?? null, expiresAt ?? null],
  );
  return { id, code: characters.match(new RegExp(`.{${GROUP}}`, "g"))?.join("-") ?? characters };
}

const codeRow = z.strictObject({
  id: z.string(),
  amountNanoUsd: z.bigint(),
  isExpired: z.boolean(),
  redeemedBy: z.string().nullable(),
});

/**
 * Turns a code into credit, once; the same account may send it again and nothing moves. Case, spaces and dashes do not
 * matter.
 * @throws GatewayError `invalid_request` for a code that is unknown, expired or another account's: one text for all, so
 *   that guessing learns nothing; `not_found` for an unknown account.
 */
export async function redeemCode(
  database: Database,
  { accountId, code, pepper }: { accountId: string; code: string; pepper: Buffer },
): Promise<PostedCredit & { amountNanoUsd: bigint }> {
  const hash = hashCode(pepper, code.toUpperCase().replaceAll(/[\s-]/g, ""));
  return database.transaction(async (transaction) => {
    const [found] = await transaction.query({
      text: `SELECT id, amount_nano_usd AS "amountNanoUsd", coalesce(expires_at <= now(), false) AS "isExpired", redeemed_by AS "redeemedBy"
             FROM redeem_code WHERE code_hash = $1 FOR UPDATE`,
      values: [hash],
      row: codeRow,
    });
    if (found === undefined || (found.redeemedBy === null ? found.isExpired : found.redeemedBy !== accountId))
      throw new GatewayError("invalid_request", "This code is not valid, or it was used already.", { field: "code" });
    const { id, amountNanoUsd } = found;
    const posted = await postCreditIn(transaction, { accountId, kind: "code", amountNanoUsd, reference: `code:${id}` });
    if (found.redeemedBy === null)
      await transaction.execute("UPDATE redeem_code SET redeemed_by = $2, redeemed_at = now() WHERE id = $1", [id, accountId]);
    return { ...posted, amountNanoUsd };
  });
}

function hashCode(pepper: Buffer, characters: string): Buffer {
  return createHmac("sha256", pepper).update(`redeem ${characters}`).digest();
}
