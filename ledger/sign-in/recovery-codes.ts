import { randomBytes } from "node:crypto";
import type { Queryable } from "../postgres/database.ts";
import { hashToken } from "../people/token.ts";

const CODES = 10;

/** New ones replace the earlier ones. @returns the codes, which are not stored anywhere. */
export async function makeRecoveryCodes(transaction: Queryable, personId: string): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () =>
    randomBytes(8)
      .toString("hex")
      .replaceAll(/(.{4})(?=.)/g, "$1-"),
  );
  await transaction.execute("DELETE FROM recovery_code WHERE person_id = $1", [personId]);
  await transaction.execute("INSERT INTO recovery_code (code_hash, person_id) SELECT unnest($1::bytea[]), $2", [
    codes.map(hashOf),
    personId,
  ]);
  return codes;
}

/** @returns false for a code that is wrong, or was used before. */
export async function useRecoveryCode(database: Queryable, personId: string, code: string): Promise<boolean> {
  const used = await database.execute("DELETE FROM recovery_code WHERE person_id = $1 AND code_hash = $2", [
    personId,
    hashOf(code),
  ]);
  return used > 0;
}

/** How many of them are left. */
export async function countRecoveryCodes(database: Queryable, personId: string): Promise<number> {
  return database.execute("SELECT FROM recovery_code WHERE person_id = $1", [personId]);
}

/** 64 random bits: capitals, spaces and dashes do not matter. */
function hashOf(code: string): Buffer {
  return hashToken(`recovery ${code.toLowerCase().replaceAll(/[^0-9a-f]/g, "")}`);
}
