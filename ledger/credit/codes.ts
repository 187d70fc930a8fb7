import { createHmac, randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { lockForChange, type Actor } from "../people/actor.ts";
import { noteAction } from "../people/audit.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { postCreditIn, type PostedCredit } from "./entries.ts";

/** Without letters and digits that are easily confused; 20 of them carry 100 bits. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH = 20;
const GROUP = 5;

export interface NewRedeemCode {
  amountNanoUsd: bigint;
  pepper: Buffer;
  expiresAt?: Date;
  note?: string;
  /** The number of accounts that can redeem it, each once; 1 if absent. */
  maxUses?: number;
  /** Id of the person who creates it. */
  createdBy?: string;
  /**
   * Names the code among all: it follows from the name and the pepper, and is created once. Random if absent. Whoever may not know the
   * code must not know both.
   */
  reference?: string;
}

export interface CreatedCode {
  code: string;
  /** False if the reference was used before: nothing changed. */
  isNew: boolean;
}

/**
 * Creates a code, `XXXXX-XXXXX-XXXXX-XXXXX`, and stores its hash. The returned code is not stored anywhere.
 * @throws GatewayError `invalid_request` for an amount or a number of uses that is not above zero.
 */
export async function createRedeemCode(
  database: Queryable,
  { amountNanoUsd, pepper, expiresAt, note, maxUses = 1, createdBy, reference }: NewRedeemCode,
): Promise<CreatedCode> {
  if (amountNanoUsd <= 0n)
    throw new GatewayError("invalid_request", "A code needs an amount above zero.", { field: "amountNanoUsd" });
  if (!Number.isSafeInteger(maxUses) || maxUses <= 0)
    throw new GatewayError("invalid_request", "A code must allow at least one use.", { field: "maxUses" });
  const bytes = reference === undefined ? randomBytes(LENGTH) : bytesOf(pepper, reference);
  // 32 characters: five bits of each byte choose one, all equally likely.
  const characters = Array.from(bytes, (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join("");
  const created = await database.execute(
    `INSERT INTO redeem_code (id, code_hash, amount_nano_usd, note, expires_at, most_uses, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (code_hash) DO NOTHING`,
    [uuidv7(), hashCode(pepper, characters), amountNanoUsd, note ?? null, expiresAt ?? null, maxUses, createdBy ?? null],
  );
  return { code: characters.match(new RegExp(`.{${GROUP}}`, "g"))?.join("-") ?? characters, isNew: created > 0 };
}

function bytesOf(pepper: Buffer, reference: string): Buffer {
  return createHmac("sha256", pepper).update(`new code ${reference}`).digest().subarray(0, LENGTH);
}

const codeRow = z.strictObject({
  id: z.string(),
  amountNanoUsd: z.bigint(),
  maxUses: z.int(),
  isOver: z.boolean(),
});

/**
 * Redeems a code, once per account; if the same account sends it again, nothing changes. Case, spaces and dashes do not matter.
 * @throws GatewayError `invalid_request` for a code that is unknown, expired, revoked or used up: one text for all, so that
 * guessing reveals nothing; `not_found` for an unknown account; `permission_denied` if the actor may not add credit any more.
 */
export async function redeemCode(
  database: Database,
  { actor, code, pepper }: { actor: Actor; code: string; pepper: Buffer },
): Promise<PostedCredit & { amountNanoUsd: bigint }> {
  const hash = hashCode(pepper, code.toUpperCase().replaceAll(/[\s-]/g, ""));
  const { accountId } = actor;
  return database.transaction(async (transaction) => {
    await lockForChange(transaction, actor, "addCredit");
    const [found] = await transaction.query({
      text: `SELECT id, amount_nano_usd AS "amountNanoUsd", most_uses AS "maxUses",
               revoked_at IS NOT NULL OR coalesce(expires_at <= now(), false) AS "isOver"
             FROM redeem_code WHERE code_hash = $1 FOR UPDATE`,
      values: [hash],
      row: codeRow,
    });
    if (found === undefined || !(await mayUse(transaction, found, accountId)))
      throw new GatewayError("invalid_request", "This code is invalid or was already used.", { field: "code" });
    const { id, amountNanoUsd, maxUses } = found;
    const reference = maxUses === 1 ? `code:${id}` : `code:${id}:${accountId}`;
    const posted = await postCreditIn(transaction, { accountId, kind: "code", amountNanoUsd, reference });
    if (posted.isNew) {
      await noteUse(transaction, id, accountId);
      await noteAction(transaction, { ...actor, action: "credit.redeemed", subject: "a code" });
    }
    return { ...posted, amountNanoUsd };
  });
}

/** Has the account used it, or may it? The code's row is locked against concurrent calls. */
async function mayUse(
  transaction: Queryable,
  { id, maxUses, isOver }: z.infer<typeof codeRow>,
  accountId: string,
): Promise<boolean> {
  const [row] = await transaction.query({
    text: `SELECT count(*)::int AS uses, coalesce(bool_or(account_id = $2), false) AS "isMine" FROM redeem_code_use WHERE code_id = $1`,
    values: [id, accountId],
    row: z.strictObject({ uses: z.int(), isMine: z.boolean() }),
  });
  return row !== undefined && (row.isMine || (!isOver && row.uses < maxUses));
}

async function noteUse(transaction: Queryable, id: string, accountId: string): Promise<void> {
  await transaction.execute("INSERT INTO redeem_code_use (code_id, account_id) VALUES ($1, $2)", [id, accountId]);
  await transaction.execute(
    "UPDATE redeem_code SET redeemed_by = $2, redeemed_at = now() WHERE id = $1 AND redeemed_by IS NULL",
    [id, accountId],
  );
}

function hashCode(pepper: Buffer, characters: string): Buffer {
  return createHmac("sha256", pepper).update(`redeem ${characters}`).digest();
}
