import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { growLease } from "../../../ledger/leases/grow-leases.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import { renewLeases } from "../../../ledger/leases/leases.ts";
import { createReaper } from "../../../ledger/leases/reaper.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { leaseOf } from "../../support/billing/lease.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { withShiftedClock } from "../../support/billing/shifted-clock.ts";

/** Postgres' clock may be another machine's after a failover (S30). */
const postgres = usePostgres();
const RULES: LeaseRules = { ttlMs: 90_000, minNanoUsd: 10_000n, maxNanoUsd: 400_000n };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An account of which a process that ended and one that goes on have leased a part each, and another process that reaps. */
async function open() {
  const { database, shift } = await withShiftedClock(await postgres.migrated());
  await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1_000_000n, reference: "start" });
  const [ended, alive] = [uuidv7(), uuidv7()];
  const begin = async () => {
    await growLease(database, leaseOf({ leaseId: ended, holder: "ended" }), RULES);
    await growLease(database, leaseOf({ leaseId: alive, holder: "alive" }), RULES);
  };
  const steady = { now: 0 };
  const reaper = createReaper({ database, ttlMs: RULES.ttlMs, clock: { nowMs: () => steady.now } });
  return {
    database,
    begin,
    alive,
    /** Postgres' clock is ahead by so much at first. */
    async run(aheadMs: number, { seconds, everyMs = 10_000 }: { seconds: number; everyMs?: number }): Promise<void> {
      for (const untilMs = steady.now + seconds * 1_000; steady.now < untilMs;) {
        steady.now += everyMs;
        await shift(aheadMs + steady.now);
        await reaper.reap();
      }
    },
    async leased(): Promise<bigint> {
      return (await readBalance(database, "acme")).leasedNanoUsd;
    },
  };
}

test.for([
  ["an hour", HOUR_MS],
  ["a day", DAY_MS],
] as const)(
  "if Postgres' clock is set forward by %s, a lease stays in force until its holder has renewed it",
  async ([, byMs]) => {
    const { database, begin, alive, run, leased } = await open();
    await run(0, { seconds: 60 });
    await begin();
    const before = await leased();
    await run(byMs, { seconds: 30 });
    expect(await leased()).toBe(before);
    expect(await renewLeases(database, [alive], RULES)).toEqual(new Map([[alive, "renewed"]]));
    await run(byMs, { seconds: 30 });
    expect(await leased()).toBe(150_000n);
    expect(await checkLedger(database)).toEqual([]);
  },
);

test("if Postgres' clock is set back by a day, credit that a process had leased before it died is free within minutes", async () => {
  const { database, begin, alive, run, leased } = await open();
  await run(DAY_MS, { seconds: 60 });
  await begin();
  await run(0, { seconds: 10 });
  for (let minute = 0; minute < 17; minute++) {
    expect(await renewLeases(database, [alive], RULES)).toEqual(new Map([[alive, "renewed"]]));
    await run(0, { seconds: 60 });
  }
  expect(await leased()).toBe(150_000n);
  expect(await checkLedger(database)).toEqual([]);
});
