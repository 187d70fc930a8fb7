import { expect, test } from "vitest";
import * as z from "zod";
import type { Limits } from "../../contract/limits.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { startFeed } from "../../ledger/feed/feed.ts";
import type { Change } from "../../ledger/feed/rows.ts";
import { claimLimits, dropOldLimitUse, setKeyLimits, type LimitUse, type OthersUse } from "../../ledger/leases/limits.ts";
import { lowestLimits, readAccountLimits, setAccountLimits } from "../../ledger/leases/account-limits.ts";
import { readCountsInUse } from "../../ledger/leases/limit-use.ts";
import { keptKey } from "../support/changes.ts";
import { eventually } from "../support/eventually.ts";
import { seedLedger } from "../support/ledger.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();
const minute = Date.now() - (Date.now() % 60_000);
const requests = (used: bigint, changes: Partial<LimitUse> = {}): LimitUse => ({
  subject: "key:one",
  kind: "requests",
  periodStartMs: minute,
  used,
  ...changes,
});

/** @returns what the process has learned. */
async function meet(database: Database, holder: string, uses: readonly LimitUse[], claimed = uses.map(({ used }) => used)) {
  let learned: { others: readonly OthersUse[]; holders: number } = { others: [], holders: 0 };
  const claim = (others: readonly OthersUse[], holders: number) => {
    learned = { others, holders };
    return claimed;
  };
  await claimLimits(database, holder, { uses, claim });
  return {
    holders: learned.holders,
    used: learned.others.map(({ used }) => used),
    claimed: learned.others.map((each) => each.claimed),
  };
}

test("each process learns what the others do, in the order of its own; telling it again changes nothing", async () => {
  const { database } = await postgres.migrated();
  await meet(database, "a", [requests(5n), requests(7n, { subject: "account:acme" })]);
  await meet(database, "a", [requests(6n), requests(7n, { subject: "account:acme" })], [9n, 7n]);
  const learned = await meet(database, "b", [
    requests(1n, { subject: "account:acme" }),
    requests(2n, { kind: "tokens" }),
    requests(3n),
    requests(0n, { periodStartMs: minute - 60_000 }),
  ]);
  expect(learned).toEqual({ holders: 2, used: [7n, 0n, 6n, 0n], claimed: [7n, 0n, 9n, 0n] });
  expect((await meet(database, "a", [requests(6n)])).used).toEqual([3n]);
});

test("of a process that is gone nothing runs and nothing is claimed any more, but what it used stays used", async () => {
  const { database } = await postgres.migrated();
  const running = requests(4n, { kind: "concurrent", periodStartMs: 0 });
  await meet(database, "gone", [running, requests(4n)], [6n, 6n]);
  expect(await meet(database, "b", [running, requests(0n)])).toMatchObject({ used: [4n, 4n], claimed: [6n, 6n] });
  await database.execute("UPDATE limit_holder SET seen_at = now() - interval '6 seconds' WHERE holder = 'gone'");
  expect(await meet(database, "b", [running, requests(0n)])).toEqual({ holders: 1, used: [0n, 4n], claimed: [0n, 4n] });
});

test("processes that meet at once decide one after another: together they never claim more than there is", async () => {
  const { database } = await postgres.migrated();
  let claimedInAll = 0n;
  const meetOnce = (holder: string) =>
    claimLimits(database, holder, {
      uses: [requests(0n)],
      claim([others]) {
        const claimed = (100n - (others?.claimed ?? 0n)) / 2n;
        claimedInAll += claimed;
        return [claimed];
      },
    });
  await Promise.all(Array.from({ length: 12 }, (_, index) => meetOnce(`holder-${index}`)));
  expect(claimedInAll).toBeLessThanOrEqual(100n);
  expect((await meet(database, "last", [requests(0n)])).claimed).toEqual([claimedInAll]);
});

test("old counts are dropped", async () => {
  const { database } = await postgres.migrated();
  await meet(database, "a", [requests(1n), requests(1n, { periodStartMs: minute - 3_600_000 })]);
  expect(await dropOldLimitUse(database)).toBe(1);
});

test("limits of keys and accounts reach whoever follows the feed", async () => {
  const { database } = await postgres.migrated();
  const { keyId } = await seedLedger(database);
  const changes: Change[] = [];
  const feed = startFeed({ database, onChange: (change) => changes.push(change) });
  await feed.ready;
  expect(await setKeyLimits(database, keyId, { requestsPerMinute: 60, spendPerDayUsd: "1.50" })).toBe(true);
  expect(await setAccountLimits(database, { accountId: "acme", by: "operator", limits: { concurrentRequests: 4 } })).toBe(true);
  expect(await setKeyLimits(database, "nobody", {})).toBe(false);
  await eventually(() => {
    expect(keptKey(changes.flatMap(({ keys }) => keys).at(-1)).limits).toEqual({ requestsPerMinute: 60, spendPerDayUsd: "1.50" });
    expect(changes.flatMap(({ accounts }) => accounts).at(-1)?.limits).toEqual({ concurrentRequests: 4 });
  });
  await feed.stop();
});

test("owners and operators limit an account apart from one another, and the lower of each applies", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  const set = (by: "owner" | "operator", limits: Limits) => setAccountLimits(database, { accountId: "acme", by, limits });
  await set("operator", { requestsPerMinute: 60, spendPerMonthUsd: "100" });
  await set("owner", { requestsPerMinute: 600, spendPerMonthUsd: "99.999999999", concurrentRequests: 2 });
  expect((await readAccountLimits(database, "acme"))?.effective).toEqual({
    requestsPerMinute: 60,
    spendPerMonthUsd: "99.999999999",
    concurrentRequests: 2,
  });
  await set("owner", {});
  const [stored] = await database.query({
    text: "SELECT limits FROM account WHERE id = 'acme'",
    row: z.strictObject({ limits: z.unknown() }),
  });
  expect(stored?.limits).toEqual({ requestsPerMinute: 60, spendPerMonthUsd: "100" });
  expect(await setAccountLimits(database, { accountId: "nobody", by: "owner", limits: {} })).toBe(false);
  expect(lowestLimits({ spendPerDayUsd: "9" }, { spendPerDayUsd: "10.0" })).toEqual({ spendPerDayUsd: "9" });
});

test("what is used of a limit is the sum of all processes, without those that are gone and minutes that are over", async () => {
  const { database } = await postgres.migrated();
  const running = requests(3n, { kind: "concurrent", periodStartMs: 0 });
  const nowMs = Date.now();
  const thisMinute = nowMs - (nowMs % 60_000);
  const counted = (used: bigint) => requests(used, { periodStartMs: thisMinute });
  await meet(database, "a", [counted(5n), running]);
  await meet(database, "b", [counted(6n), running, requests(9n, { periodStartMs: thisMinute - 60_000 })]);
  await meet(database, "c", [requests(1n, { subject: "key:other", periodStartMs: thisMinute })]);
  const read = async () => (await readCountsInUse(database, ["key:one"], nowMs)).get("key:one");
  expect(await read()).toEqual(
    new Map([
      ["requests", 11n],
      ["concurrent", 6n],
    ]),
  );
  await database.execute("UPDATE limit_holder SET seen_at = now() - interval '6 seconds' WHERE holder = 'a'");
  expect(await read()).toEqual(
    new Map([
      ["requests", 11n],
      ["concurrent", 3n],
    ]),
  );
});
