import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import { createCredit, type Credit } from "../../../extproc/credit/credit.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { reapLeases } from "../../../ledger/leases/leases.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import { createSettler, type Settler } from "../../../ledger/settlement/settler.ts";
import { eventually } from "../../support/eventually.ts";
import { sizeOf } from "../../support/billing/hold-size.ts";
import { seedLedger, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();
type TestDatabase = Awaited<ReturnType<typeof postgres.migrated>>;
const CHARGE = 90_000n;
const never = new AbortController().signal;
const RULES: LeaseRules = { ttlMs: 60_000, minNanoUsd: CHARGE, maxNanoUsd: 20n * CHARGE };

interface Replica {
  credit: Credit;
  settler: Settler;
}

/** One process's credit and settling, as extproc.ts puts them together, on its own connections. */
function startReplica({ connect }: TestDatabase, name: string, idleMs = 60_000): Replica {
  const database = connect(name);
  const settler = createSettler({ database, flushMs: 5 });
  const credit = createCredit({
    bank: createLeaseBank(database, name, RULES),
    pendingNanoUsd: settler.pendingNanoUsd,
    isSettlingBehind: () => settler.isFull,
    clock: { nowMs: () => performance.now() },
    newLeaseId: () => uuidv7(),
    topUpUrl: "https://example.test",
    onLeased: () => {},
    onLeaseFailed: () => {},
    // A busy machine takes longer over a thousand requests than a client would wait.
    waitMs: 10_000,
    idleMs,
  });
  onTestFinished(() => settler.drain(1_000));
  return { credit, settler };
}

async function grant({ database }: TestDatabase, amountNanoUsd: bigint): Promise<void> {
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd, reference: uuidv7() });
}

const account = { accountId: "acme" };

/** One request that costs CHARGE and takes a moment. @returns the refusal's code, or "served". */
async function request({ credit, settler }: Replica, customer: Customer, holdNanoUsd: bigint): Promise<string> {
  try {
    const hold = await credit.admit(account, sizeOf(holdNanoUsd), never);
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
    settler.add(settlementOf(customer, { chargeNanoUsd: CHARGE, leaseId: hold.settle(CHARGE) }));
    return "served";
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

test("1,000 concurrent requests on one replica, with credit for 100: 99 or 100 are served, nothing is overdrawn (S30)", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 100n * CHARGE);
  const replica = startReplica(on, "one");
  const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => request(replica, customer, (CHARGE * 3n) / 2n)));
  const served = outcomes.filter((each) => each === "served").length;
  expect(served).toBeGreaterThanOrEqual(99);
  expect(served).toBeLessThanOrEqual(100);
  expect(new Set(outcomes)).toEqual(new Set(["served", "insufficient_balance"]));
  await replica.settler.drain(10_000);
  await replica.credit.close();
  expect(await readBalance(on.database, "acme")).toMatchObject({
    postedNanoUsd: BigInt(100 - served) * CHARGE,
    leasedNanoUsd: 0n,
  });
  expect(await checkLedger(on.database)).toEqual([]);
});

test("1,000 concurrent requests over three replicas never overdraw, and strand no more than a hold each", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 100n * CHARGE);
  const hold = (CHARGE * 3n) / 2n;
  const replicas = ["one", "two", "three"].map((name) => startReplica(on, name));
  const outcomes = await Promise.all(
    replicas.flatMap((replica) => Array.from({ length: 334 }, () => request(replica, customer, hold))),
  );
  const served = outcomes.filter((each) => each === "served").length;
  expect(served).toBeLessThanOrEqual(100);
  // A replica's remainder at the end is less than one hold.
  expect(BigInt(100 - served) * CHARGE).toBeLessThan(BigInt(replicas.length) * hold);
  for (const { settler, credit } of replicas) {
    await settler.drain(10_000);
    await credit.close();
  }
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(BigInt(100 - served) * CHARGE);
  expect(await checkLedger(on.database)).toEqual([]);
});

test("an unused lease is returned, so that another replica can use all of the credit", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 10n * CHARGE);
  const [idle, busy] = [startReplica(on, "idle", 0), startReplica(on, "busy")];
  expect(await request(idle, customer, CHARGE)).toBe("served");
  await idle.settler.drain(5_000);
  await idle.credit.keepLeases();
  expect((await readBalance(on.database, "acme")).leasedNanoUsd).toBe(0n);
  expect(await request(busy, customer, 9n * CHARGE)).toBe("served");
});

test("a renewed lease stays; a reaped one is replaced by the next request", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 100n * CHARGE);
  const replica = startReplica(on, "one");
  expect(await request(replica, customer, CHARGE)).toBe("served");
  const leaseId = "SELECT FROM credit_lease WHERE ended_at IS NULL";
  expect(await on.database.execute(leaseId)).toBe(1);
  await on.database.execute("UPDATE credit_lease SET expires_at = now() - interval '1 hour'");
  await reapLeases(on.database, { before: new Date(Date.now() - 10_000) });
  expect(await on.database.execute(leaseId)).toBe(0);
  for (let number = 0; number < 30; number++) expect(await request(replica, customer, CHARGE)).toBe("served");
  await replica.settler.drain(10_000);
  expect(await checkLedger(on.database)).toEqual([]);
});

test("a process that ends returns its credit over a new connection when the old ones are cut", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 100n * CHARGE);
  const replica = startReplica(on, "ending");
  expect(await request(replica, customer, CHARGE)).toBe("served");
  await replica.settler.drain(5_000);
  await postgres.stop();
  await postgres.start();
  await replica.credit.close();
  expect((await readBalance(on.database, "acme")).leasedNanoUsd).toBe(0n);
});

test("while Postgres is down a leased account is served and another is unavailable; afterwards nothing is missing", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  await grant(on, 100n * CHARGE);
  const replica = startReplica(on, "one");
  expect(await request(replica, customer, CHARGE)).toBe("served");
  await postgres.stop();
  for (let number = 0; number < 5; number++) expect(await request(replica, customer, CHARGE)).toBe("served");
  const other = { accountId: "other" };
  await expect((async () => replica.credit.admit(other, sizeOf(1n), never))()).rejects.toMatchObject({
    code: "billing_unavailable",
    headers: { "retry-after": "5" },
  });
  await postgres.start();
  await eventually(() => expect(replica.settler.queued).toBe(0), { withinMs: 20_000 });
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(94n * CHARGE);
  expect(await checkLedger(on.database)).toEqual([]);
});
