import { v7 as uuidv7 } from "uuid";
import { createCredit } from "../../../extproc/credit/credit.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { sizeOf } from "../../support/billing/hold-size.ts";

/** As autovacuum does within a minute: plans from before read all leases, of which there were a few. */
export const ANALYZE = "ANALYZE account_balance, credit_lease";

export interface VisitsBench {
  database: Database;
  rules: LeaseRules;
  cpuMicros(work: () => Promise<void>): Promise<number>;
}

export interface VisitsCase {
  accountIds: readonly string[];
  /** Seconds between two requests of an account on this process. */
  everyS: number;
}

/** At least. The second half is measured, when every account has come before. */
const SECONDS = 240;
const HOLD_NANO_USD = 1_000_000n;

/** One process whose accounts come alone, by a clock that runs as fast as it can. @returns µs of Postgres' CPU for a request. */
export async function measureVisits(
  { database, rules, cpuMicros }: VisitsBench,
  { accountIds, everyS }: VisitsCase,
): Promise<number> {
  const clock = { now: 0 };
  const credit = createCredit({
    bank: createLeaseBank(database, uuidv7(), rules),
    pendingNanoUsd: () => 0n,
    isSettlingBehind: () => false,
    clock: { nowMs: () => clock.now },
    newLeaseId: () => uuidv7(),
    topUpUrl: "https://example.test",
    onLeased: () => {},
    onLeaseFailed: () => {},
  });
  const halfS = Math.max(SECONDS / 2, everyS);
  let visits = 0;

  async function live(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      for (const [number, accountId] of accountIds.entries()) {
        if ((number + clock.now / 1_000) % everyS !== 0) continue;
        (await credit.admit({ accountId }, sizeOf(HOLD_NANO_USD), { aborted: false })).release();
        visits++;
      }
      clock.now += 1_000;
      await credit.keepLeases();
    }
  }

  await live(halfS);
  await database.execute(ANALYZE);
  visits = 0;
  const cpu = await cpuMicros(() => live(halfS));
  await credit.close();
  return cpu / visits;
}
