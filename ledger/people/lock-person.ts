import type { Queryable } from "../postgres/database.ts";

/** Until the transaction ends, others that lock the person wait. Where an account is locked too, it is locked first. */
export async function lockPerson(transaction: Queryable, personId: string): Promise<void> {
  await transaction.execute("SELECT FROM person WHERE id = $1 FOR NO KEY UPDATE", [personId]);
}
