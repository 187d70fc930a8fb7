import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

export interface SettledBalance {
  postedNanoUsd: bigint;
  /** Increases with each change of the balance: of two readings, the one with the higher version is the later one. */
  version: bigint;
}

/** The balances of these accounts, as last settled. Those that do not exist are left out. */
export function readSettledBalances(database: Queryable, accountIds: readonly string[]): Promise<Map<string, SettledBalance>> {
  return read(database, READ, accountIds);
}

/**
 * Locks and reads them, in sorted order. Those that do not exist are left out.
 * @param leavesHeld leaves out those that others hold, too, instead of waiting for them.
 */
export function lockSettledBalances(
  transaction: Queryable,
  accountIds: readonly string[],
  { leavesHeld }: { leavesHeld: boolean },
): Promise<Map<string, SettledBalance>> {
  return read(transaction, leavesHeld ? LOCK_OTHERS : LOCK, accountIds);
}

const READ_TEXT = `SELECT account_id AS "accountId", posted_nano_usd AS "postedNanoUsd", version FROM account_balance
  WHERE account_id = ANY($1)`;
const LOCK_TEXT = `${READ_TEXT} ORDER BY account_id FOR NO KEY UPDATE`;
const READ = { name: "settled-balances", text: READ_TEXT };
const LOCK = { name: "settle-lock", text: LOCK_TEXT };
const LOCK_OTHERS = { name: "settle-lock-others", text: `${LOCK_TEXT} SKIP LOCKED` };

const rowSchema = z.strictObject({ accountId: z.string(), postedNanoUsd: z.bigint(), version: z.bigint() });

async function read(
  database: Queryable,
  statement: { name: string; text: string },
  accountIds: readonly string[],
): Promise<Map<string, SettledBalance>> {
  const rows = await database.query({ ...statement, values: [accountIds], row: rowSchema });
  return new Map(rows.map(({ accountId, ...balance }) => [accountId, balance]));
}
