import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { SettledBalance } from "./settle.ts";

/** The balances of these accounts, as last settled. Those that do not exist are left out. */
export async function readSettledBalances(
  database: Queryable,
  accountIds: readonly string[],
): Promise<Map<string, SettledBalance>> {
  const rows = await database.query({
    name: "settled-balances",
    text: `SELECT account_id AS "accountId", posted_nano_usd AS "postedNanoUsd", version FROM account_balance WHERE account_id = ANY($1)`,
    values: [accountIds],
    row: rowSchema,
  });
  return new Map(rows.map(({ accountId, ...balance }) => [accountId, balance]));
}

const rowSchema = z.strictObject({ accountId: z.string(), postedNanoUsd: z.bigint(), version: z.bigint() });
