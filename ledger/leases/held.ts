import type { Queryable } from "../postgres/database.ts";

/** What became of a call for an account whose balance somebody holds, if it did not wait for it: nothing. */
export const HELD = "held";
export type Held = typeof HELD;

export interface Waiting {
  /** How long a statement waits for a lock; as long as any statement may take if absent. */
  lockTimeoutMs?: number;
}

/** For the rest of a transaction. */
export async function boundWaiting(transaction: Queryable, { lockTimeoutMs }: Waiting): Promise<void> {
  if (lockTimeoutMs !== undefined) await transaction.execute(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
}
