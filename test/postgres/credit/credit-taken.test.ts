import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import { createCredit, type Credit } from "../../../extproc/credit/credit.ts";
import type { Hold } from "../../../extproc/credit/hold.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { expireGrants, postExpiringGrant } from "../../../ledger/credit/grants.ts";
import { startFeed, type Feed } from "../../../ledger/feed/feed.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { createSettler, type Settler } from "../../../ledger/settlement/settler.ts";
import { eventually } from "../../support/eventually.ts";
import { sizeOf } from "../../support/billing/hold-size.ts";
import { seedLedger, settlementOf, type Customer } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Credit that is leased, and is taken away or needed elsewhere: holders learn of it by the feed (S30, S37). */
const postgres = usePostgres();
type TestDatabase = Awaited<ReturnType<typeof postgres.migrated>>;
const never = { aborted: false };
const account = { accountId: "acme" };
const RULES = { ttlMs: 60_000, minNanoUsd: 1_000n, maxNanoUsd: 1_000_000_000n };

interface Replica {
  credit: Credit;
  settler: Settler;
  feed: Feed;
}

/** One process's credit, settling and feed, as extproc.ts puts them together, on its own connections. */
async function startReplica({ connect }: TestDatabase, name: string): Promise<Replica> {
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
    idleMs: 60_000,
  });
  const feed = startFeed({ database, onChange: ({ accounts }) => credit.note(accounts) });
  onTestFinished(async () => {
    await feed.stop();
    await settler.drain(1_000);
  });
  await feed.ready;
  return { credit, settler, feed };
}

async function accountWith(on: TestDatabase, amountNanoUsd: bigint): Promise<Customer> {
  const customer = await seedLedger(on.database);
  await postCredit(on.database, { accountId: "acme", kind: "grant", amountNanoUsd, reference: "start" });
  return customer;
}

async function use({ credit, settler }: Replica, customer: Customer, nanoUsd: bigint): Promise<string> {
  try {
    const hold = await credit.admit(account, sizeOf(nanoUsd), never);
    settler.add(settlementOf(customer, { chargeNanoUsd: nanoUsd, leaseId: hold.settle(nanoUsd) }));
    return "served";
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

test("credit removed from under a lease is not spent: running requests continue, nothing else starts (S30)", async () => {
  const on = await postgres.migrated();
  const customer = await accountWith(on, 10_000_000n);
  const replica = await startReplica(on, "one");
  expect(await use(replica, customer, 10_000n)).toBe("served");
  const running: Hold = await replica.credit.admit(account, sizeOf(100_000n), never);
  await postCredit(on.database, { accountId: "acme", kind: "adjust", amountNanoUsd: -9_985_000n, reference: "mistake" });
  await eventually(async () => expect((await readBalance(on.database, "acme")).leasedNanoUsd).toBe(100_000n));
  for (let number = 0; number < 20; number++) expect(await use(replica, customer, 10_000n)).toBe("insufficient_balance");
  replica.settler.add(settlementOf(customer, { chargeNanoUsd: 100_000n, leaseId: running.settle(100_000n) }));
  await eventually(() => expect(replica.settler.queued).toBe(0));
  // 5,000 were left when 100,000 were held.
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(-95_000n);
  expect(await checkLedger(on.database)).toEqual([]);
});

test("what running requests leave of credit that was removed is not spent either (S30)", async () => {
  const on = await postgres.migrated();
  const customer = await accountWith(on, 10_000_000n);
  const replica = await startReplica(on, "one");
  const running: Hold = await replica.credit.admit(account, sizeOf(9_000_000n), never);
  await postCredit(on.database, { accountId: "acme", kind: "adjust", amountNanoUsd: -8_000_000n, reference: "mistake" });
  await replica.feed.caughtUp();
  replica.settler.add(settlementOf(customer, { chargeNanoUsd: 100_000n, leaseId: running.settle(100_000n) }));
  await eventually(() => expect(replica.settler.queued).toBe(0));
  expect(await use(replica, customer, 3_000_000n)).toBe("insufficient_balance");
  expect(await use(replica, customer, 1_900_000n)).toBe("served");
  await eventually(() => expect(replica.settler.queued).toBe(0));
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(0n);
  expect(await checkLedger(on.database)).toEqual([]);
});

test("credit that one process has leased and does not use goes to the one that needs it (S37)", async () => {
  const on = await postgres.migrated();
  const customer = await accountWith(on, 10_000_000n);
  const [idle, busy] = [await startReplica(on, "idle"), await startReplica(on, "busy")];
  expect(await use(idle, customer, 10_000n)).toBe("served");
  expect((await readBalance(on.database, "acme")).leasedNanoUsd).toBeGreaterThan(4_000_000n);
  expect(await use(busy, customer, 9_000_000n)).toBe("served");
  await eventually(() => expect(busy.settler.queued).toBe(0));
  expect(await checkLedger(on.database)).toEqual([]);
});

test("credit is recalled even if the last primary's clock was minutes ahead (S37)", async () => {
  const on = await postgres.migrated();
  const customer = await accountWith(on, 10_000_000n);
  const [idle, busy] = [await startReplica(on, "idle"), await startReplica(on, "busy")];
  await on.database.execute(
    `UPDATE account_balance SET recalled_nano_usd = 1, recalled_at = clock_timestamp() + interval '5 minutes', version = version + 1`,
    [],
  );
  expect(await use(idle, customer, 10_000n)).toBe("served");
  expect(await use(busy, customer, 9_000_000n)).toBe("served");
  await eventually(() => expect(busy.settler.queued).toBe(0));
  expect(await checkLedger(on.database)).toEqual([]);
});

test("a refused request leaves free credit to the other processes (S37)", async () => {
  const on = await postgres.migrated();
  const customer = await accountWith(on, 10_000_000n);
  const [one, two] = [await startReplica(on, "one"), await startReplica(on, "two")];
  expect(await use(one, customer, 11_000_000n)).toBe("insufficient_balance");
  expect((await readBalance(on.database, "acme")).leasedNanoUsd).toBe(0n);
  for (let number = 0; number < 10; number++) expect(await use(two, customer, 10_000n)).toBe("served");
});

test("an expiring grant leaves the credit that running requests hold, and takes the rest (S30)", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  const expiresAt = new Date(Date.now() + 60_000);
  await postExpiringGrant(on.database, { accountId: "acme", amountNanoUsd: 10_000_000n, reference: "trial", expiresAt });
  const replica = await startReplica(on, "one");
  const running: Hold = await replica.credit.admit(account, sizeOf(100_000n), never);
  await on.database.execute("UPDATE expiring_grant SET expires_at = now() - interval '1 second'");
  expect(await expireGrants(on.database)).toBe(1);
  expect(await readBalance(on.database, "acme")).toMatchObject({ postedNanoUsd: 100_000n, leasedNanoUsd: 100_000n });
  replica.settler.add(settlementOf(customer, { chargeNanoUsd: 100_000n, leaseId: running.settle(100_000n) }));
  await eventually(() => expect(replica.settler.queued).toBe(0));
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(0n);
  expect(await checkLedger(on.database)).toEqual([]);
});

test("what running requests leave of an expired grant is taken, and what they use is not (S30)", async () => {
  const on = await postgres.migrated();
  const customer = await seedLedger(on.database);
  const expiresAt = new Date(Date.now() + 60_000);
  for (const reference of ["first", "second"])
    await postExpiringGrant(on.database, { accountId: "acme", amountNanoUsd: 5_000_000n, reference, expiresAt });
  const replica = await startReplica(on, "one");
  const left: Hold = await replica.credit.admit(account, sizeOf(6_000_000n), never);
  const used: Hold = await replica.credit.admit(account, sizeOf(3_000_000n), never);
  await on.database.execute("UPDATE expiring_grant SET expires_at = now() - interval '1 second'");
  await expireGrants(on.database);
  expect(await readBalance(on.database, "acme")).toMatchObject({ postedNanoUsd: 9_000_000n, leasedNanoUsd: 9_000_000n });
  const ofLastParts = "SELECT FROM ledger_entry WHERE reference IN ('expire:first', 'expire:second')";
  expect(await on.database.execute(ofLastParts), "an earlier version posts these").toBe(0);
  // It is no part of the grants, although it comes before they are over.
  await postCredit(on.database, { accountId: "acme", kind: "grant", amountNanoUsd: 50_000_000n, reference: "later" });
  left.release();
  replica.settler.add(settlementOf(customer, { chargeNanoUsd: 3_000_000n, leaseId: used.settle(3_000_000n) }));
  await eventually(() => expect(replica.settler.queued).toBe(0));
  await expireGrants(on.database);
  expect((await readBalance(on.database, "acme")).postedNanoUsd).toBe(50_000_000n);
  expect(await expireGrants(on.database)).toBe(0);
  expect(await on.database.execute(ofLastParts)).toBe(2);
  const { entries } = await listEntries(on.database, { accountId: "acme", limit: 10 });
  const taken = entries.filter(({ kind }) => kind === "expire");
  expect(taken.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n)).toBe(-7_000_000n);
  expect(await checkLedger(on.database)).toEqual([]);
});
