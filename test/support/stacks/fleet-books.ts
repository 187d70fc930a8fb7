import { expect } from "vitest";
import * as z from "zod";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { eventually } from "../eventually.ts";
import type { Charge, Fleet } from "./fleet.ts";

/**
 * Every request of a fleet is charged once, as it must be, and accounts have what they were credited less that.
 * @param credited of each account, nano-USD.
 */
export async function expectExactBooks(
  database: Database,
  { fleet, credited }: { fleet: Pick<Fleet, "expected">; credited: ReadonlyMap<string, bigint> },
): Promise<void> {
  const { expected } = fleet;
  await eventually(
    async () => {
      const rows = await rowsOf(database);
      expect([...rows.keys()].filter((requestId) => !expected.has(requestId))).toEqual([]);
      for (const [requestId, { accountId, charges }] of expected) {
        const row = rows.get(requestId);
        expect(charges.map((charge) => charge && { accountId, ...charge })).toContainEqual(row);
      }
    },
    { withinMs: 20_000 },
  );
  const rows = [...(await rowsOf(database)).values()];
  for (const [accountId, creditNanoUsd] of credited) {
    const charged = rows.filter((row) => row.accountId === accountId).reduce((sum, { nanoUsd }) => sum + nanoUsd, 0n);
    const { postedNanoUsd } = await readBalance(database, accountId);
    expect(postedNanoUsd).toBe(creditNanoUsd - charged);
  }
}

async function rowsOf(database: Database): Promise<Map<string, Charge & { accountId: string }>> {
  const rows = await database.query({
    text: `SELECT request_id AS "requestId", account_id AS "accountId", charge_nano_usd AS "nanoUsd", outcome = 'lost' AS "isLost" FROM usage_event`,
    row: z.strictObject({ requestId: z.string(), accountId: z.string(), nanoUsd: z.bigint(), isLost: z.boolean() }),
  });
  return new Map(rows.map(({ requestId, ...row }) => [requestId, row]));
}
