import { expect, test } from "vitest";
import * as z from "zod";
import type { Limits } from "../../../contract/limits.ts";
import { startFeed } from "../../../ledger/feed/feed.ts";
import type { Change } from "../../../ledger/feed/rows.ts";
import { dropOldLimitUse, setKeyLimits } from "../../../ledger/leases/limits.ts";
import {
  createLimitTurns,
  type LimitGrant,
  type LimitMark,
  type LimitTurns,
  type LimitUse,
} from "../../../ledger/leases/limit-turns.ts";
import { lowestLimits, readAccountLimits, setAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { readCountsInUse } from "../../../ledger/leases/limit-use.ts";
import { keptKey } from "../../support/billing/changes.ts";
import { eventually } from "../../support/eventually.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { explainQueries } from "../../support/billing/explained-queries.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const minute = Date.now() - (Date.now() % 60_000);
const FRESH = { limit: 100n, added: 0n, running: 0n, unused: 0n, most: 1_000n, last: null, isNew: false };
const requests = (changes: Partial<LimitUse> = {}): LimitUse => ({
  subject: "key:one",
  kind: "requests",
  periodStartMs: minute,
  ...FRESH,
  ...changes,
});
const running = (changes: Partial<LimitUse> = {}) => requests({ kind: "concurrent", periodStartMs: 0, ...changes });

/** @returns the only grant. */
async function takeOne(turns: LimitTurns, use: LimitUse): Promise<LimitGrant> {
  const { grants } = await turns.take([use]);
  const [grant] = grants;
  if (grant === undefined) throw new Error("the turn has granted nothing");
  return grant;
}

/** The row after a turn, for the next turn of the same process. */
const markOf = ({ term, grantedUse }: LimitGrant, use: LimitUse): LimitMark => ({
  term,
  reserved: grantedUse > use.unused ? grantedUse : use.unused,
  running: use.running,
});

test("each process learns the total use of all, in the order of its own use", async () => {
  const { database } = await postgres.migrated();
  await createLimitTurns(database, "a").take([requests({ added: 5n }), requests({ added: 7n, subject: "account:acme" })]);
  const { grants, processes } = await createLimitTurns(database, "b").take([
    requests({ added: 1n, subject: "account:acme" }),
    requests({ added: 2n, kind: "tokens" }),
    requests({ added: 3n }),
    requests({ periodStartMs: minute - 60_000 }),
  ]);
  expect(processes).toBe(2);
  expect(grants.map((grant) => grant?.used)).toEqual([8n, 2n, 8n, 0n]);
});

test("a process reserves an even share of the free amount, and its next turn replaces the reservation", async () => {
  const { database } = await postgres.migrated();
  const [a, b] = [createLimitTurns(database, "a"), createLimitTurns(database, "b")];
  await b.take([]);
  const first = requests({ added: 20n });
  const ofFirst = await takeOne(a, first);
  expect(ofFirst).toMatchObject({ grantedUse: 40n, used: 20n });
  expect(await takeOne(b, requests())).toMatchObject({ grantedUse: 20n, used: 20n });
  const second = requests({ added: 40n, last: markOf(ofFirst, first) });
  expect(await takeOne(a, second)).toMatchObject({ grantedUse: 10n, used: 60n });
});

test("others get a smaller share only when the process that had more has been notified", async () => {
  const { database } = await postgres.migrated();
  const [a, b] = [createLimitTurns(database, "a"), createLimitTurns(database, "b")];
  await b.take([]);
  const use = requests({ unused: 60n });
  const grant = await takeOne(a, use);
  expect(grant.grantedUse).toBe(50n);
  expect((await takeOne(b, requests())).grantedUse).toBe(20n);
  const again = await takeOne(a, requests({ last: markOf(grant, use), unused: 50n }));
  expect(again.grantedUse).toBe(40n);
  expect((await takeOne(createLimitTurns(database, "c"), requests({ limit: 200n }))).grantedUse).toBe(65n);
});

test("if all is reserved but not used, one more may begin; if all is used, none", async () => {
  const { database } = await postgres.migrated();
  await takeOne(createLimitTurns(database, "a"), requests({ unused: 100n }));
  expect((await takeOne(createLimitTurns(database, "b"), requests())).grantedUse).toBe(1n);
  expect((await takeOne(createLimitTurns(database, "c"), requests({ added: 100n }))).grantedUse).toBe(0n);
});

test("a process that is gone has nothing running or reserved, but its use stays counted", async () => {
  const { database } = await postgres.migrated();
  await createLimitTurns(database, "gone").take([running({ running: 4n, unused: 96n }), requests({ added: 4n, unused: 96n })]);
  const look = async (holder: string) => {
    const { grants } = await createLimitTurns(database, holder).take([running(), requests()]);
    return grants.map((grant) => [grant?.used, grant?.grantedUse]);
  };
  expect(await look("b")).toEqual([
    [4n, 1n],
    [4n, 1n],
  ]);
  await database.execute("UPDATE limit_process SET seen_at = now() - interval '6 seconds'");
  await database.execute("UPDATE limit_total SET term = term - 2");
  expect(await look("c")).toEqual([
    [0n, 100n],
    [4n, 96n],
  ]);
});

test("in a new period, processes that have not met yet keep their even share", async () => {
  const { database } = await postgres.migrated();
  const [a, b, c] = ["a", "b", "c"].map((holder) => createLimitTurns(database, holder));
  for (const each of [a, b, c]) await each?.take([]);
  if (a === undefined) throw new Error("there are three");
  expect((await takeOne(a, requests({ isNew: true }))).grantedUse).toBe(17n);
});

test("processes that meet concurrently never reserve more than the limit, and none waits for a lock in vain", async () => {
  const { database } = await postgres.migrated();
  const subjects = Array.from({ length: 40 }, (_, index) => `key:${index}`);
  const holders = Array.from({ length: 12 }, (_, index) => createLimitTurns(database, `holder-${index}`));
  for (const each of holders) await each.take([]);
  const results = await Promise.all(
    holders.map(async (turns, index) => {
      const order = index % 2 === 0 ? subjects : subjects.toReversed();
      return turns.take(order.map((subject) => requests({ subject, limit: 1_000n })));
    }),
  );
  const reserved = await database.query({
    text: "SELECT reserved FROM limit_total",
    row: z.strictObject({ reserved: z.bigint() }),
  });
  expect(reserved).toHaveLength(40);
  for (const row of reserved) expect(row.reserved).toBeLessThanOrEqual(1_000n);
  expect(results.flatMap(({ grants }) => grants)).not.toContain(undefined);
});

test("a turn whose answer was lost counts once", async () => {
  const { database } = await postgres.migrated();
  const turns = createLimitTurns(database, "a");
  const losing = {
    ...database,
    async query<Row>(query: { text: string; values?: readonly unknown[]; row: z.ZodType<Row> }): Promise<Row[]> {
      await database.query(query);
      throw new Error("the answer is lost");
    },
  };
  const lost = createLimitTurns(losing, "b");
  await expect(lost.take([requests({ added: 5n })])).rejects.toThrow("the answer is lost");
  expect((await takeOne(turns, requests())).used).toBe(5n);
  const away = { ...database, query: () => Promise.reject(new Error("away")) };
  await expect(createLimitTurns(away, "c").take([requests({ added: 5n })])).rejects.toThrow("away");
  expect((await takeOne(turns, requests())).used).toBe(5n);
});

test("a failed turn is known to have counted or not, and does not count later", async () => {
  const { database } = await postgres.migrated();
  let failure: "before" | "after" | "none" = "after";
  const flaky = {
    ...database,
    async query<Row>(query: { text: string; values?: readonly unknown[]; row: z.ZodType<Row> }): Promise<Row[]> {
      const isTurn = query.text.includes("unnest");
      if (isTurn && failure === "before") throw new Error("not sent");
      const rows = await database.query(query);
      if (isTurn && failure === "after") throw new Error("not answered");
      return rows;
    },
  };
  const turns = createLimitTurns(flaky, "a");
  await expect(turns.take([requests({ added: 5n })])).rejects.toThrow("not answered");
  expect(await turns.resolve()).toBe(true);
  failure = "before";
  await expect(turns.take([requests({ added: 5n })])).rejects.toThrow("not sent");
  expect(await turns.resolve()).toBe(false);
  failure = "none";
  expect((await takeOne(turns, requests({ added: 1n }))).used).toBe(6n);
});

test("use by processes of the previous version counts for those of this one", async () => {
  const { database } = await postgres.migrated();
  const write = async (used: bigint) =>
    database.execute(
      `INSERT INTO limit_use (subject, kind, period_start, used, claimed, holder) VALUES ('key:one', 'requests', $1, $2, $2, 'old')
       ON CONFLICT (subject, kind, period_start, holder) DO UPDATE SET used = excluded.used, claimed = excluded.claimed`,
      [new Date(minute), used],
    );
  await write(7n);
  await write(9n);
  await database.execute("INSERT INTO limit_holder VALUES ('old', clock_timestamp())");
  const { grants, processes } = await createLimitTurns(database, "new").take([requests()]);
  expect(processes).toBe(2);
  expect(grants[0]).toMatchObject({ used: 9n, grantedUse: 45n });
});

test("a turn reads its own rows only, although the minute is too new for the planner to know how many it has", async () => {
  const { database } = await postgres.migrated();
  const uses = Array.from({ length: 250 }, (_, index) => requests({ subject: `key:${index}` }));
  await createLimitTurns(database, "a").take(uses);
  const explained = explainQueries(database);
  await createLimitTurns(explained.database, "b").take(uses.slice(0, 125));
  expect(explained.plans.join("\n")).toContain("Update on limit_total");
  expect(explained.rowsRemoved()).toBeLessThan(10);
});

test("a turn does not wait for the disk, and what its connection writes next does", async () => {
  const { database } = await postgres.migrated();
  const modes: string[] = [];
  const row = z.strictObject({ synchronous_commit: z.string() });
  await database.transaction(async (transaction) => {
    const connection = { ...database, ...transaction };
    await createLimitTurns(connection, "a").take([requests()]);
    modes.push(...(await transaction.query({ text: "SHOW synchronous_commit", row })).map((each) => each.synchronous_commit));
  });
  const after = await Promise.all(Array.from({ length: 10 }, () => database.query({ text: "SHOW synchronous_commit", row })));
  expect(modes).toEqual(["off"]);
  expect(new Set(after.flat().map((each) => each.synchronous_commit))).toEqual(new Set(["on"]));
});

test("a reservation that a crash of the database lost is not taken from those of others", async () => {
  const { database } = await postgres.migrated();
  const [a, b] = [createLimitTurns(database, "a"), createLimitTurns(database, "b")];
  await b.take([]);
  const use = requests();
  const grant = await takeOne(a, use);
  await takeOne(b, use);
  await database.execute("UPDATE limit_total SET reserved = 0, reserved_before = 0");
  expect((await takeOne(a, requests({ last: markOf(grant, use) }))).grantedUse).toBe(50n);
});

test("old counts are dropped", async () => {
  const { database } = await postgres.migrated();
  await createLimitTurns(database, "a").take([requests(), requests({ periodStartMs: minute - 3_600_000 })]);
  expect(await dropOldLimitUse(database)).toBe(1);
});

test("limits of keys and accounts reach every follower of the feed", async () => {
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

test("owners and operators limit an account independently, and the lower of each applies", async () => {
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

test("the use of a limit is the sum of all processes, without those that are gone and past minutes", async () => {
  const { database } = await postgres.migrated();
  const nowMs = Date.now();
  const thisMinute = nowMs - (nowMs % 60_000);
  const counted = (added: bigint) => requests({ added, periodStartMs: thisMinute });
  await createLimitTurns(database, "a").take([counted(5n), running({ running: 3n })]);
  await createLimitTurns(database, "b").take([
    counted(6n),
    running({ running: 3n }),
    requests({ added: 9n, periodStartMs: thisMinute - 60_000 }),
  ]);
  await createLimitTurns(database, "c").take([requests({ added: 1n, subject: "key:other", periodStartMs: thisMinute })]);
  const read = async () => (await readCountsInUse(database, ["key:one"], nowMs)).get("key:one");
  expect(await read()).toEqual(
    new Map([
      ["requests", 11n],
      ["concurrent", 6n],
    ]),
  );
  await database.execute("UPDATE limit_total SET term = term - 5");
  expect(await read()).toEqual(
    new Map([
      ["requests", 11n],
      ["concurrent", 0n],
    ]),
  );
});
