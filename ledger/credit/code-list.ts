import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";

/** A redeem code as operators of the service see it: its text is not stored. */
export interface ListedCode {
  /** UUIDv7. */
  id: string;
  amountNanoUsd: bigint;
  note: string | null;
  /** Email address. */
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  uses: number;
  maxUses: number;
  status: "open" | "used" | "expired" | "revoked";
}

const codeRow = z.strictObject({
  id: z.string(),
  amountNanoUsd: z.bigint(),
  note: z.string().nullable(),
  createdBy: z.string().nullable(),
  createdAt: z.date(),
  expiresAt: z.date().nullable(),
  uses: z.int(),
  maxUses: z.int(),
  status: z.enum(["open", "used", "expired", "revoked"]),
});

const CODES = `
  SELECT code.id, amount_nano_usd AS "amountNanoUsd", note, email AS "createdBy", code.created_at AS "createdAt",
    expires_at AS "expiresAt", uses, most_uses AS "maxUses",
    CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN uses >= most_uses THEN 'used'
      WHEN expires_at <= now() THEN 'expired' ELSE 'open' END AS status
  FROM redeem_code AS code LEFT JOIN person ON person.id = created_by
  CROSS JOIN LATERAL (SELECT count(*)::int AS uses FROM redeem_code_use WHERE code_id = code.id) AS used`;

/**
 * Newest first.
 * @param beforeId continues after the code with this id.
 */
export async function listRedeemCodes(
  database: Queryable,
  { limit, beforeId }: { limit: number; beforeId?: string | undefined },
): Promise<ListedCode[]> {
  return database.query({
    text: `${CODES} WHERE $1::uuid IS NULL OR code.id < $1 ORDER BY code.id DESC LIMIT $2`,
    values: [beforeId ?? null, limit],
    row: codeRow,
  });
}

/** @throws GatewayError `not_found`. */
export async function findRedeemCode(database: Queryable, id: string): Promise<ListedCode> {
  const isId = z.uuid().safeParse(id).success;
  const [code] = isId ? await database.query({ text: `${CODES} WHERE code.id = $1`, values: [id], row: codeRow }) : [];
  if (code === undefined) throw new GatewayError("not_found", "There is no such code.");
  return code;
}

/**
 * The code can no longer be redeemed; credit already granted by it stays.
 * @throws GatewayError `not_found` if there is no such code, or it was revoked before.
 */
export async function revokeRedeemCode(database: Queryable, id: string): Promise<void> {
  const revoked = z.uuid().safeParse(id).success
    ? await database.execute("UPDATE redeem_code SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL", [id])
    : 0;
  if (revoked === 0) throw new GatewayError("not_found", "There is no such code, or it has already been revoked.");
}
