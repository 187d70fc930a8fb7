import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { readSnapshot } from "../../../ledger/feed/changes.ts";
import { startFeed, type Feed } from "../../../ledger/feed/feed.ts";
import { PAGE_ROWS } from "../../../ledger/feed/pages.ts";
import { createWorld, type World } from "../../../extproc/world/world.ts";
import { readChanges } from "../../support/billing/changes.ts";
import { eventually } from "../../support/eventually.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { insertedKeyId, insertKeys } from "../../support/dashboard/many-keys.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();
const ACCOUNT = "acme";

async function startDatabase() {
  const started = await postgres.migrated();
  await createAccount(started.database, { id: ACCOUNT, name: "Acme" });
  return started;
}

/** How many rows each statement brought. */
function counting(database: Database): { database: Database; rows: number[] } {
  const rows: number[] = [];
  return {
    rows,
    database: {
      ...database,
      async query(query) {
        const found = await database.query(query);
        rows.push(found.length);
        return found;
      },
    },
  };
}

async function follow(database: Database): Promise<{ world: World; feed: Feed }> {
  const world = createWorld({ lastHeardMs: () => feed.lastSuccessAt });
  const feed = startFeed({ database, pollMs: 50, onReload: world.reload, onChange: world.apply });
  onTestFinished(() => feed.stop());
  await feed.ready;
  return { world, feed };
}

describe("a process that starts", () => {
  test("reads more keys than a page has, at most a page per statement", async () => {
    const { database } = await startDatabase();
    const count = 2 * PAGE_ROWS + 1;
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count });
    const counted = counting(database);
    const { world } = await follow(counted.database);
    expect(world.keys).toBe(count);
    for (const number of [0, PAGE_ROWS - 1, PAGE_ROWS, count - 1])
      expect(world.findKey(insertedKeyId(number))).toMatchObject({ accountId: ACCOUNT });
    expect(Math.max(...counted.rows)).toBe(PAGE_ROWS);
  });

  test("reads no deleted key, however many there are", async () => {
    const { database } = await startDatabase();
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count: 3 * PAGE_ROWS, isRevoked: true });
    await insertKeys(database, { accountId: ACCOUNT, from: 3 * PAGE_ROWS, count: 1 });
    // Else the insertion counts as a change that may not have been seen.
    await untilPast(database);
    const counted = counting(database);
    const { world } = await follow(counted.database);
    expect(world.keys).toBe(1);
    // The account, the key and the horizons: no statement brought a deleted key.
    expect(Math.max(...counted.rows)).toBe(1);
  });

  test("reads its keys through an index without the deleted ones", async () => {
    const { database } = await startDatabase();
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count: 3 * PAGE_ROWS, isRevoked: true });
    await insertKeys(database, { accountId: ACCOUNT, from: 3 * PAGE_ROWS, count: 10 });
    await database.execute("ANALYZE api_key");
    await expectIndexUse(database, "api_key_active", async () => void (await follow(database)));
  });
});

describe("a process that runs", () => {
  test("receives more changes than a page has, including deletions, at most a page per statement", async () => {
    const { database } = await startDatabase();
    const count = 2 * PAGE_ROWS + 1;
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count });
    const counted = counting(database);
    const { world } = await follow(counted.database);
    // One transaction: nothing but the id orders its changes.
    await database.execute("UPDATE api_key SET revoked_at = now() WHERE public_id <> $1", [insertedKeyId(7)]);
    await eventually(() => expect(world.keys).toBe(1));
    expect(world.findKey(insertedKeyId(7))).toBeDefined();
    expect(Math.max(...counted.rows)).toBe(PAGE_ROWS);
  });

  test("drops keys that a restored database no longer contains", async () => {
    const { database, connect } = await startDatabase();
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count: 3 });
    const { world } = await follow(connect("extproc"));
    expect(world.keys).toBe(3);
    // As after a restore: the row differs, and no change reports it.
    await database.transaction(async (transaction) => {
      await transaction.execute("SET LOCAL session_replication_role = replica");
      await transaction.execute("UPDATE api_key SET revoked_at = now(), changed_xid = 1 WHERE public_id = $1", [
        insertedKeyId(1),
      ]);
    });
    await eventually(async () =>
      expect(
        await database.execute(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'extproc listen'",
        ),
      ).toBe(1),
    );
    await eventually(() => expect(world.findKey(insertedKeyId(1))).toBeUndefined());
    expect(world.keys).toBe(2);
  });

  test("receives a deletion while it reads everything again", async () => {
    const { database } = await startDatabase();
    await insertKeys(database, { accountId: ACCOUNT, from: 0, count: 2 * PAGE_ROWS });
    const { lines, log } = captureLog();
    const reconnected = Promise.withResolvers<() => void>();
    const holding = { isOn: false };
    const world = createWorld({ lastHeardMs: () => feed.lastSuccessAt });
    const phases: string[] = [];
    const feed = startFeed({
      log,
      pollMs: 20,
      onChange: world.apply,
      onReload(phase) {
        phases.push(phase);
        world.reload(phase);
      },
      database: {
        ...database,
        listen: async ({ onReconnected, signal }) => {
          reconnected.resolve(onReconnected);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
        async query(query) {
          // The reload's pages of keys fail until the deletion was seen: it cannot have come with them.
          if (holding.isOn && /revoked_at IS NULL/.test(query.text)) throw new Error("not now");
          return database.query(query);
        },
      },
    });
    onTestFinished(() => feed.stop());
    await feed.ready;
    holding.isOn = true;
    (await reconnected.promise)();
    await eventually(() => expect(lines.join()).toContain("cannot be read"));
    await database.execute("UPDATE api_key SET revoked_at = now() WHERE public_id = $1", [insertedKeyId(5)]);
    await eventually(() => expect(world.findKey(insertedKeyId(5))).toBeUndefined());
    holding.isOn = false;
    await eventually(() => expect(phases).toEqual(["begin", "end", "begin", "end"]));
    expect(world.keys).toBe(2 * PAGE_ROWS - 1);
  });
});

test("changes are read in order, not by reading everything again", async () => {
  const { database } = await startDatabase();
  const { seen } = await readChanges(database);
  await insertKeys(database, { accountId: ACCOUNT, from: 0, count: 3 });
  expect((await readChanges(database, seen)).keys).toHaveLength(3);
});

/** Waits until no transaction is open that began before the last change of a key. */
async function untilPast(database: Database): Promise<void> {
  const [last] = await database.query({
    text: "SELECT max(changed_xid) AS xid FROM api_key",
    row: z.strictObject({ xid: z.bigint() }),
  });
  await eventually(async () => {
    const { nextXid, openXids } = await readSnapshot(database);
    for (const xid of [nextXid, ...openXids]) expect(xid).toBeGreaterThan(last?.xid ?? 0n);
  });
}

/** Expects that `work` uses this index on keys. Each connection reports its use with a delay. */
async function expectIndexUse(database: Database, index: string, work: () => Promise<void>): Promise<void> {
  const read = async () =>
    new Map(
      (
        await database.query({
          text: `SELECT indexrelname AS name, idx_scan::int AS scans FROM pg_stat_user_indexes WHERE relname = 'api_key'`,
          row: z.strictObject({ name: z.string(), scans: z.int() }),
        })
      ).map(({ name, scans }) => [name, scans]),
    );
  const before = await read();
  await work();
  await eventually(async () => {
    const after = await read();
    expect([...after].filter(([name, scans]) => scans > (before.get(name) ?? 0)).map(([name]) => name)).toContain(index);
  });
}
