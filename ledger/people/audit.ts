import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { Queryable } from "../database.ts";

/** Something that somebody did; the subject names what it was done to, and is never a secret. */
export interface Action {
  accountId: string | null;
  personId: string | null;
  action: `${"person" | "key" | "member" | "credit" | "account"}.${string}`;
  subject: string;
}

export interface ListedAction {
  /** UUIDv7: holds the time. */
  id: string;
  /** Who: an e-mail address. */
  by: string | null;
  action: string;
  subject: string;
}

export async function noteAction(database: Queryable, { accountId, personId, action, subject }: Action): Promise<void> {
  await database.execute("INSERT INTO audit_entry (id, account_id, person_id, action, subject) VALUES ($1, $2, $3, $4, $5)", [
    uuidv7(),
    accountId,
    personId,
    action,
    subject,
  ]);
}

/**
 * What was done in an account, newest first.
 * @param beforeId goes on after the action of this id.
 */
export async function listActions(
  database: Queryable,
  { accountId, limit, beforeId }: { accountId: string; limit: number; beforeId?: string },
): Promise<ListedAction[]> {
  return database.query({
    text: `SELECT audit_entry.id, email AS by, action, subject FROM audit_entry LEFT JOIN person ON person.id = person_id
           WHERE account_id = $1 AND ($2::uuid IS NULL OR audit_entry.id < $2) ORDER BY audit_entry.id DESC LIMIT $3`,
    values: [accountId, beforeId ?? null, limit],
    row: z.strictObject({ id: z.string(), by: z.string().nullable(), action: z.string(), subject: z.string() }),
  });
}
