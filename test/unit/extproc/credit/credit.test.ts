import { expect, test } from "vitest";
import { createCredit } from "../../../../extproc/credit/credit.ts";
import type { Renewal } from "../../../../ledger/leases/leases.ts";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never } from "../../../support/billing/wallet.ts";

const SECOND_MS = 1_000;
const MINUTE_S = 60;
const LEASE_S = 90;
/** Leases of several accounts are returned together, once in so long. */
const RETURNS_EVERY_S = 10;

/** Calls of the bank; of those that return credit, the lease or the amount. */
interface Asked {
  grown: number;
  renewed: number;
  returned: string[];
  freed: bigint[];
}

/** One process's credit, of accounts that have `freeNanoUsd` beside a lease of 100. */
function startCredit({ freeNanoUsd = 1_600n } = {}) {
  const clock = { now: 0 };
  const bank: { isAway: boolean; renewal: Renewal } = { isAway: false, renewal: "renewed" };
  const asked: Asked = { grown: 0, renewed: 0, returned: [], freed: [] };
  let leases = 0;
  const unused = () => Promise.reject(new Error("it is not called"));
  const credit = createCredit({
    bank: {
      ttlMs: LEASE_S * SECOND_MS,
      minNanoUsd: 50n,
      async grow() {
        asked.grown++;
        const facts = { spendableNanoUsd: freeNanoUsd + 100n, leasedByOthersNanoUsd: 0n };
        return { isOpen: true, addedNanoUsd: 100n, grantedNanoUsd: 100n, freeNanoUsd, ...facts };
      },
      async renew(leaseIds) {
        asked.renewed++;
        return new Map(leaseIds.map((leaseId) => [leaseId, bank.renewal]));
      },
      async giveBack({ leaseId }) {
        asked.returned.push(leaseId);
      },
      async shrink({ nanoUsd }) {
        if (bank.isAway) throw new Error("connection refused");
        asked.freed.push(nanoUsd);
      },
      giveBackAll: unused,
    },
    pendingNanoUsd: () => 0n,
    isSettlingBehind: () => false,
    clock: { nowMs: () => clock.now },
    newLeaseId: () => `lease-${++leases}`,
    topUpUrl: "https://example.test",
    onLeased: () => {},
    onLeaseFailed: () => {},
  });
  return {
    credit,
    bank,
    asked,
    async visit(accountId = "acme"): Promise<void> {
      const hold = await credit.admit({ accountId }, sizeOf(10n), never);
      hold.release();
    },
    async wait(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        clock.now += SECOND_MS;
        await credit.keepLeases();
      }
    },
  };
}

test("an account that comes every minute keeps a lease that is a sixteenth of its free credit (S30)", async () => {
  const { asked, visit, wait } = startCredit({ freeNanoUsd: 1_600n });
  for (let visits = 0; visits < 10; visits++) {
    await visit();
    await wait(MINUTE_S);
  }
  expect(asked.grown).toBe(1);
  expect(asked.renewed).toBeGreaterThanOrEqual(10);
  expect(asked.returned).toEqual([]);
});

test("a lease whose row somebody holds is used until it expires, and renewed as soon as that is over (S30)", async () => {
  const { bank, asked, visit, wait } = startCredit();
  await visit();
  bank.renewal = "held";
  await wait(LEASE_S - 3);
  await visit();
  expect(asked.grown).toBe(1);
  bank.renewal = "renewed";
  await wait(1);
  bank.renewal = "held";
  await wait(LEASE_S - 3);
  await visit();
  expect(asked).toMatchObject({ grown: 1, returned: [] });
});

test("a small lease is returned five minutes after its last use (S30)", async () => {
  const { asked, visit, wait } = startCredit();
  await visit();
  await wait(5 * MINUTE_S - 1);
  expect(asked.returned).toEqual([]);
  await wait(RETURNS_EVERY_S);
  expect(asked.returned).toEqual(["lease-1"]);
  await visit();
  expect(asked.grown).toBe(2);
});

test("of a larger lease, all but a sixteenth of what others can lease is returned after ten seconds (S30)", async () => {
  const { asked, visit, wait } = startCredit({ freeNanoUsd: 920n });
  await visit();
  await wait(9);
  expect(asked.freed).toEqual([]);
  await wait(20);
  expect(asked.freed).toEqual([40n]);
  await visit();
  expect(asked).toMatchObject({ grown: 1, returned: [] });
});

test("a larger lease is returned as a whole if a part of it could not be: others would miss it for five minutes (S37)", async () => {
  const { bank, asked, visit, wait } = startCredit({ freeNanoUsd: 920n });
  await visit();
  bank.isAway = true;
  await wait(2 * RETURNS_EVERY_S);
  bank.isAway = false;
  await wait(RETURNS_EVERY_S);
  expect(asked).toMatchObject({ returned: ["lease-1"], freed: [] });
});

test("a lease of an account with little credit is returned after ten seconds, all of it (S30)", async () => {
  const { asked, visit, wait } = startCredit({ freeNanoUsd: 749n });
  await visit();
  await wait(9);
  expect(asked.returned).toEqual([]);
  await wait(RETURNS_EVERY_S);
  expect(asked).toMatchObject({ returned: ["lease-1"], freed: [] });
});

test("a small idle lease is returned when little of the account's credit is left (S30)", async () => {
  const { credit, asked, visit, wait } = startCredit();
  await visit();
  await wait(MINUTE_S);
  credit.note([{ accountId: "acme", leasing: { freeNanoUsd: 100n, recall: null } }]);
  await wait(RETURNS_EVERY_S);
  expect(asked.returned).toEqual(["lease-1"]);
});

test("at most 5,000 idle leases are kept, those of the accounts that came last (S30)", async () => {
  const { asked, visit, wait } = startCredit();
  for (let account = 0; account < 5_003; account++) await visit(`account-${account}`);
  await wait(10 + RETURNS_EVERY_S);
  expect(asked.returned).toEqual(["lease-1", "lease-2", "lease-3"]);
});

test("leases of accounts that came one after another are returned together (S30)", async () => {
  const { asked, visit, wait } = startCredit({ freeNanoUsd: 749n });
  const returnedInSecond = new Map<number, number>();
  for (let second = 0; second < 60; second++) {
    const before = asked.returned.length;
    if (second < 30) await visit(`account-${second}`);
    await wait(1);
    if (asked.returned.length > before) returnedInSecond.set(second, asked.returned.length - before);
  }
  expect(asked.returned).toHaveLength(30);
  expect(returnedInSecond.size).toBe(4);
});
