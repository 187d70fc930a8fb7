import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { growLease, growLeases } from "../../../ledger/leases/grow-leases.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import type { LeaseRules } from "../../../ledger/leases/lease.ts";
import {
  endLeasesOf,
  LeasesKeptError,
  reapLeases,
  renewLeases,
  returnLeases,
  shrinkLeases,
} from "../../../ledger/leases/leases.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { hold } from "../../support/billing/held-rows.ts";
import { leaseOf } from "../../support/billing/lease.ts";
import { createCustomer, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const RULES: LeaseRules = { ttlMs: 45_000, minNanoUsd: 10_000n, maxNanoUsd: 400_000n };
const EXPIRED: LeaseRules = { ...RULES, ttlMs: -60_000 };

async function accountWith(database: Database, amountNanoUsd: bigint) {
  const customer = await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd, reference: "start" });
  return customer;
}

const request = (leaseId: string, wantedNanoUsd = 0n, holder = "one") => leaseOf({ leaseId, wantedNanoUsd, holder });

test("a lease takes half of the free credit, within its bounds, and grows", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  const first = await growLease(database, request(leaseId), RULES);
  expect(first).toEqual({
    isOpen: true,
    addedNanoUsd: 400_000n,
    grantedNanoUsd: 400_000n,
    spendableNanoUsd: 1_000_000n,
    freeNanoUsd: 600_000n,
    leasedByOthersNanoUsd: 0n,
  });
  expect((await growLease(database, request(leaseId), RULES)).addedNanoUsd).toBe(300_000n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(700_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("a request that needs more than the slice gets it, and never more than the credit", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  expect((await growLease(database, request(leaseId, 900_000n), RULES)).addedNanoUsd).toBe(900_000n);
  expect((await growLease(database, request(leaseId, 900_000n), RULES)).addedNanoUsd).toBe(100_000n);
  expect((await growLease(database, request(leaseId, 1n), RULES)).addedNanoUsd).toBe(0n);
});

test("if credit falls short of a request, its lease gets nothing: others may need it (S37)", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  const grow = (neededNanoUsd: bigint, wantedNanoUsd: bigint) =>
    growLease(database, { ...request(leaseId), neededNanoUsd, wantedNanoUsd }, RULES);
  expect(await grow(1_000_001n, 2_000_000n)).toMatchObject({ isOpen: false, addedNanoUsd: 0n, freeNanoUsd: 1_000_000n });
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(0n);
  expect((await grow(300_000n, 2_000_000n)).addedNanoUsd).toBe(1_000_000n);
});

test("shares are smaller if other processes use the account", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  await growLease(database, request(uuidv7(), 0n, "one"), RULES);
  const second = await growLease(database, request(uuidv7(), 0n, "two"), RULES);
  expect(second).toMatchObject({ addedNanoUsd: 150_000n, leasedByOthersNanoUsd: 400_000n });
});

test("a lease that begins alone gets what it would get in a batch, whatever is asked and there", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  for (const accountId of ["alone", "batch"]) await createCustomer(database, accountId);
  const amounts = [0n, 9_999n, 250_000n, 5_000_000n];
  for (const [turn, creditNanoUsd] of amounts.entries())
    for (const neededNanoUsd of amounts)
      for (const wantedNanoUsd of amounts) {
        const grants = [];
        for (const accountId of ["alone", "batch"]) {
          const holder = `${turn}-${neededNanoUsd}-${wantedNanoUsd}`;
          await postCredit(database, {
            accountId,
            kind: "grant",
            amountNanoUsd: creditNanoUsd + 1n,
            reference: `${accountId}-${holder}`,
          });
          const lease = { ...request(uuidv7(), wantedNanoUsd, holder), accountId, neededNanoUsd, isNew: accountId === "alone" };
          grants.push(await growLease(database, lease, RULES));
        }
        expect(grants[0]).toEqual(grants[1]);
      }
  expect(await checkLedger(database)).toEqual([]);
});

test("a lease whose beginning was not heard of begins once, however often it is asked for", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId, 90_000n), { ...RULES, maxNanoUsd: 0n });
  await settle(database, [settlementOf(customer, { leaseId })]);
  expect(await growLease(database, request(leaseId, 90_000n), { ...RULES, maxNanoUsd: 0n })).toMatchObject({
    isOpen: true,
    addedNanoUsd: 90_000n,
    grantedNanoUsd: 180_000n,
  });
  await returnLeases(database, [{ leaseId, accountId: "acme" }]);
  expect(await growLease(database, request(leaseId), RULES)).toMatchObject({ isOpen: false, addedNanoUsd: 0n });
  expect(await checkLedger(database)).toEqual([]);
});

test("any number of processes that grow concurrently never lease more than the credit", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const grants = await Promise.all(
    Array.from({ length: 40 }, (_, index) => growLease(database, request(uuidv7(), 60_000n, `holder-${index}`), RULES)),
  );
  expect(grants.reduce((sum, { addedNanoUsd }) => sum + addedNanoUsd, 0n)).toBe(1_000_000n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(1_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("a charge lowers balance and lease together; the part beyond the lease comes only from the balance", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId, 100_000n), { ...RULES, maxNanoUsd: 0n });
  await settle(database, [settlementOf(customer, { leaseId })]);
  expect(await readBalance(database, "acme")).toMatchObject({ postedNanoUsd: 910_000n, leasedNanoUsd: 10_000n });
  await settle(database, [settlementOf(customer, { leaseId })]);
  expect(await readBalance(database, "acme")).toMatchObject({ postedNanoUsd: 820_000n, leasedNanoUsd: 0n });
  expect(await checkLedger(database)).toEqual([]);
});

test("a repeated settlement takes nothing from the lease", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId), RULES);
  const settlement = settlementOf(customer, { leaseId });
  await settle(database, [settlement]);
  await settle(database, [settlement, settlement]);
  expect(await readBalance(database, "acme")).toMatchObject({ postedNanoUsd: 910_000n, leasedNanoUsd: 310_000n });
});

test("a returned lease frees its rest, once, and cannot grow again", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId), RULES);
  await settle(database, [settlementOf(customer, { leaseId })]);
  expect((await returnLeases(database, [{ leaseId, accountId: "acme" }])).nanoUsd).toBe(310_000n);
  expect((await returnLeases(database, [{ leaseId, accountId: "acme" }])).nanoUsd).toBe(0n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(0n);
  expect(await growLease(database, request(leaseId, 1n), RULES)).toMatchObject({ isOpen: false, addedNanoUsd: 0n });
  expect(await checkLedger(database)).toEqual([]);
});

test("a lease that is not renewed is reaped after its grace period; its late settlement is charged to the balance", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 1_000_000n);
  const [dead, alive] = [uuidv7(), uuidv7()];
  await growLease(database, request(dead, 0n, "one"), EXPIRED);
  await growLease(database, request(alive, 0n, "two"), RULES);
  expect(await reapLeases(database, { before: new Date(Date.now() - 600_000) })).toBe(0n);
  expect(await reapLeases(database, { before: new Date(Date.now() - 10_000) })).toBe(400_000n);
  expect(await renewLeases(database, [dead, alive], RULES)).toEqual(new Map([[alive, "renewed"]]));

  await settle(database, [settlementOf(customer, { leaseId: dead })]);
  expect(await readBalance(database, "acme")).toMatchObject({ postedNanoUsd: 910_000n, leasedNanoUsd: 150_000n });
  expect(await checkLedger(database)).toEqual([]);
});

test("a renewed lease is not reaped", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId), EXPIRED);
  await renewLeases(database, [leaseId], RULES);
  expect(await reapLeases(database, { before: new Date() })).toBe(0n);
});

test("the leases of an ended process end together", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  await growLease(database, request(uuidv7(), 0n, "one"), RULES);
  await growLease(database, request(uuidv7(), 0n, "two"), RULES);
  expect(await endLeasesOf(database, "one")).toBe(400_000n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(150_000n);
});

test("an overdraft is leased like credit", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 50_000n);
  await database.execute("UPDATE account_balance SET overdraft_nano_usd = 50000 WHERE account_id = 'acme'");
  expect((await growLease(database, request(uuidv7(), 100_000n), RULES)).addedNanoUsd).toBe(100_000n);
});

test("concurrent growing, settling, renewing, returning and reaping leave no difference and no deadlock", async () => {
  const { database } = await postgres.migrated();
  const customer = await accountWith(database, 50_000_000n);
  const work = Array.from({ length: 60 }, async (_, index) => {
    const leaseId = uuidv7();
    const holder = `holder-${index % 7}`;
    await growLease(database, request(leaseId, 90_000n, holder), index % 5 === 0 ? EXPIRED : RULES);
    await Promise.all([
      settle(database, [settlementOf(customer, { leaseId }), settlementOf(customer)]),
      renewLeases(database, [leaseId], RULES),
      reapLeases(database, { before: new Date() }),
    ]);
    if (index % 3 === 0) await returnLeases(database, [{ leaseId, accountId: "acme" }]);
    if (index % 11 === 0) await endLeasesOf(database, holder);
  });
  await Promise.all(work);
  expect(await checkLedger(database)).toEqual([]);
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(50_000_000n - 120n * 90_000n);
});

test("leases of several accounts begin and end in one batch, even if one account does not exist", async () => {
  const { database } = await postgres.migrated();
  const ids = ["acme", "zenith", "nobody", "mid"];
  await accountWith(database, 1_000_000n);
  for (const accountId of ["zenith", "mid"]) {
    await createCustomer(database, accountId);
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000n, reference: accountId });
  }
  const leases = ids.map((accountId) => ({ leaseId: uuidv7(), accountId }));
  const requests = leases.map((lease) => ({ ...lease, isNew: true, neededNanoUsd: 0n, wantedNanoUsd: 100_000n }));
  const outcomes = await growLeases(database, { holder: "one", requests }, RULES);
  expect(outcomes.map((outcome) => (outcome instanceof GatewayError ? outcome.code : outcome.addedNanoUsd))).toEqual([
    400_000n,
    400_000n,
    "not_found",
    400_000n,
  ]);
  expect(await checkLedger(database)).toEqual([]);
  const existing = leases.filter(({ accountId }) => accountId !== "nobody");
  expect((await returnLeases(database, existing)).nanoUsd).toBe(1_200_000n);
  expect((await readBalance(database, "zenith")).leasedNanoUsd).toBe(0n);
  expect(await checkLedger(database)).toEqual([]);
});

test("two leases of one account in a batch never take more than it has", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const requests = [700_000n, 700_000n].map((wantedNanoUsd) => ({
    leaseId: uuidv7(),
    accountId: "acme",
    isNew: true,
    neededNanoUsd: 0n,
    wantedNanoUsd,
  }));
  const outcomes = await growLeases(database, { holder: "one", requests }, RULES);
  expect(outcomes).toMatchObject([{ addedNanoUsd: 700_000n }, { addedNanoUsd: 300_000n, freeNanoUsd: 0n }]);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(1_000_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("while somebody holds an account's balance, leases of others grow, shrink, are returned and reaped", async () => {
  const { database, connect } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  await createCustomer(database, "other");
  await postCredit(database, { accountId: "other", kind: "grant", amountNanoUsd: 1_000_000n, reference: "other" });
  const bank = createLeaseBank(connect("bank", { statementTimeoutMs: 1_000 }), "one", RULES);
  const accountIds = ["acme", "other"];
  const [grown, returned] = [new Map(accountIds.map((id) => [id, uuidv7()])), new Map(accountIds.map((id) => [id, uuidv7()]))];
  const idOf = (leases: Map<string, string>, accountId: string) => leases.get(accountId) ?? "";
  const grow = (leases: Map<string, string>, accountId: string) =>
    bank.grow({ leaseId: idOf(leases, accountId), accountId, isNew: true, neededNanoUsd: 0n, wantedNanoUsd: 0n });
  for (const accountId of accountIds) {
    await grow(grown, accountId);
    await grow(returned, accountId);
    await growLease(database, { ...request(uuidv7(), 0n, "dead"), accountId }, EXPIRED);
  }
  const release = await hold(connect("holder"), "SELECT FROM account_balance WHERE account_id = 'acme' FOR UPDATE");

  expect(await reapLeases(database, { before: new Date(Date.now() - 10_000) })).toBeGreaterThan(0n);
  const operations: readonly ((accountId: string) => Promise<unknown>)[] = [
    (accountId: string) => grow(grown, accountId),
    (accountId: string) => bank.shrink({ leaseId: idOf(grown, accountId), accountId, nanoUsd: 1n }),
    (accountId: string) => bank.giveBack({ leaseId: idOf(returned, accountId), accountId }),
  ];
  for (const operation of operations) {
    const attempt = () => Promise.allSettled(accountIds.map(operation));
    // Once all of a batch wait together.
    await attempt();
    expect((await attempt()).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  }

  await release();
  for (const operation of operations) await operation("acme");
  expect(await reapLeases(database, { before: new Date(Date.now() - 10_000) })).toBeGreaterThan(0n);
  expect(await checkLedger(database)).toEqual([]);
});

test("however many balances are held, another account's lease begins without waiting for them (S40)", async () => {
  const { database, connect } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const heldIds = Array.from({ length: 12 }, (_, number) => `held-${number}`);
  for (const accountId of heldIds) {
    await createCustomer(database, accountId);
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000n, reference: accountId });
  }
  const bank = createLeaseBank(connect("bank"), "one", RULES);
  const leases = new Map(heldIds.map((accountId) => [accountId, uuidv7()]));
  const lease = (accountId: string, leaseId = uuidv7()) => ({
    leaseId,
    accountId,
    nanoUsd: 1n,
    neededNanoUsd: 1n,
    wantedNanoUsd: 1n,
  });
  for (const [accountId, leaseId] of leases) await bank.grow({ ...lease(accountId, leaseId), isNew: true });
  const release = await hold(connect("holder"), "SELECT FROM account_balance WHERE account_id LIKE 'held-%' FOR UPDATE");

  let refused = 0;
  const calls: Promise<unknown>[] = [];
  // In turns of their own: each would be a batch that waits, and a connection.
  for (const [accountId, leaseId] of leases) {
    calls.push(bank.grow({ ...lease(accountId), isNew: true }).catch(() => (refused += 1)));
    calls.push(
      bank.shrink(lease(accountId, leaseId)).catch(() => {}),
      bank.giveBack(lease(accountId, leaseId)).catch(() => {}),
    );
    await nextTurn();
  }
  expect(await bank.grow({ ...lease("acme"), isNew: true })).toMatchObject({ isOpen: true });
  // The others still wait.
  expect(refused).toBeLessThan(heldIds.length / 2);

  await release();
  await Promise.all(calls);
  await bank.giveBackAll();
  expect(await checkLedger(database)).toEqual([]);
});

test("while somebody holds a lease, others are renewed and reaped, and it stays in force", async () => {
  const { database, connect } = await postgres.migrated();
  await accountWith(database, 10_000_000n);
  const [held, free] = [uuidv7(), uuidv7()];
  await growLease(database, request(held, 0n, "one"), RULES);
  await growLease(database, request(free, 0n, "one"), RULES);
  await growLease(database, request(uuidv7(), 0n, "dead"), EXPIRED);
  const release = await hold(connect("holder"), "SELECT FROM credit_lease WHERE lease_id = $1 FOR UPDATE", [held]);
  const bank = createLeaseBank(connect("bank", { statementTimeoutMs: 1_000 }), "one", RULES);
  expect(await bank.renew([held, free])).toEqual(
    new Map([
      [held, "held"],
      [free, "renewed"],
    ]),
  );
  await reapLeases(database, { before: new Date(Date.now() - 10_000) });
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(800_000n);

  await release();
  expect(await bank.renew([held, free])).toEqual(
    new Map([
      [held, "renewed"],
      [free, "renewed"],
    ]),
  );
  expect(await checkLedger(database)).toEqual([]);
});

test("of expired leases, one that somebody holds ends when it is free", async () => {
  const { database, connect } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const held = uuidv7();
  await growLease(database, request(held, 0n, "dead"), EXPIRED);
  await growLease(database, request(uuidv7(), 0n, "dead"), EXPIRED);
  const release = await hold(connect("holder"), "SELECT FROM credit_lease WHERE lease_id = $1 FOR UPDATE", [held]);
  const reaper = connect("reaper", { statementTimeoutMs: 1_000 });
  const others = await reapLeases(reaper, { before: new Date(Date.now() - 10_000) });
  expect(others).toBeGreaterThan(0n);
  await release();
  expect(await reapLeases(reaper, { before: new Date(Date.now() - 10_000) })).toBeGreaterThan(0n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(0n);
  expect(await checkLedger(database)).toEqual([]);
});

test("a return that never reached the database leaves its leases in force, and reports that", async () => {
  const { database, connect } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const leaseId = uuidv7();
  await growLease(database, request(leaseId), RULES);
  const away = connect("away");
  await away.close();
  await expect(returnLeases(away, [{ leaseId, accountId: "acme" }])).rejects.toThrow(LeasesKeptError);
  expect(await renewLeases(database, [leaseId], RULES)).toEqual(new Map([[leaseId, "renewed"]]));
});

test("parts of several leases are taken back at once, of none that has ended or has less left (S30)", async () => {
  const { database } = await postgres.migrated();
  await accountWith(database, 1_000_000n);
  const other = await createCustomer(database, "other");
  await postCredit(database, { accountId: other.accountId, kind: "grant", amountNanoUsd: 100_000n, reference: "others" });
  const [large, small, ended, others] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()];
  await growLease(database, request(large), RULES);
  await growLease(database, request(small, 0n, "two"), RULES);
  await growLease(database, request(ended, 0n, "three"), RULES);
  await growLease(database, { ...request(others), accountId: other.accountId }, RULES);
  await returnLeases(database, [{ leaseId: ended, accountId: "acme" }]);
  const { leasedNanoUsd } = await readBalance(database, "acme");
  const { nanoUsd: freed } = await shrinkLeases(database, [
    { leaseId: large, accountId: "acme", nanoUsd: 300_000n },
    { leaseId: small, accountId: "acme", nanoUsd: 400_001n },
    { leaseId: ended, accountId: "acme", nanoUsd: 1n },
    { leaseId: others, accountId: other.accountId, nanoUsd: 20_000n },
  ]);
  expect(freed).toBe(320_000n);
  expect((await readBalance(database, "acme")).leasedNanoUsd).toBe(leasedNanoUsd - 300_000n);
  expect((await readBalance(database, other.accountId)).leasedNanoUsd).toBe(30_000n);
  expect(await checkLedger(database)).toEqual([]);
});
