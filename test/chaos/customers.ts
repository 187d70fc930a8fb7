import assert from "node:assert/strict";
import { createAccount } from "../../ledger/accounts/accounts.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createApiKey } from "../../ledger/keys/keys.ts";
import { eventually } from "../support/eventually.ts";
import type { SupervisedStack } from "../support/supervised/supervised-stack.ts";
import type { Customer } from "./load.ts";
import { pause } from "../../runtime/wait.ts";

const RICH_NANO_USD = 1_000_000_000_000_000n;
/** Its credit runs out within seconds, and comes again. */
export const THIN = {
  row: "credit runs out",
  accountId: "thin",
  creditNanoUsd: 20_000_000n,
  everyMs: 10_000,
  workers: 2,
} as const;
/** For each request at once a stretch of 256 tokens, and the piece that was on its way (docs/billing.md). */
export const OVERDRAFT_NANO_USD = BigInt(THIN.workers) * (256n + 64n) * 4_000n;

/** One that has all that it wants, and one that has not; the gateway knows both. */
export async function createCustomers(stack: SupervisedStack, baseUrl: string, workers: number): Promise<Customer[]> {
  const { database, pepper } = stack;
  const { accountId } = THIN;
  await postCredit(database, { accountId: "demo", kind: "grant", amountNanoUsd: RICH_NANO_USD, reference: "chaos" });
  await createAccount(database, { id: accountId, name: accountId });
  const { value } = await createApiKey(database, { accountId, name: "chaos", pepper });
  await eventually(async () => {
    const response = await fetch(`${baseUrl}/v1/balance`, { headers: { "x-api-key": value } });
    assert.equal(response.status, 200);
  });
  return [
    { apiKey: stack.apiKey, isThin: false, workers },
    { apiKey: value, isThin: true, workers: THIN.workers },
  ];
}

/** Adds credit now and then; while the database is away, not. */
export async function feedThin(database: Database, signal: AbortSignal): Promise<void> {
  const { accountId, creditNanoUsd: amountNanoUsd, everyMs } = THIN;
  for (let round = 0; !signal.aborted; round++) {
    const credit = { accountId, kind: "grant", amountNanoUsd, reference: `chaos ${round}` } as const;
    await postCredit(database, credit).catch(() => undefined);
    await pause(everyMs, signal);
  }
}
