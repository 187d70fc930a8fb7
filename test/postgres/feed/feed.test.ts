import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAccount, readBalance } from "../../../ledger/accounts/accounts.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { keptKey, readChanges } from "../../support/billing/changes.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { BEGINNING } from "../../../ledger/feed/changes.ts";
import { startFeed, type Feed } from "../../../ledger/feed/feed.ts";
import type { AccountRow, KeyRow, ModelRow } from "../../../ledger/feed/rows.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { eventually } from "../../support/eventually.ts";
import { hold } from "../../support/billing/held-rows.ts";
import {
  catalogueModel,
  createCustomer,
  type Customer,
  PEPPER,
  PRICE,
  seedLedger,
  settlementOf,
} from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();
const WRITERS = 6;
const ROUNDS = 15;
/** So long that only a notice can have woken the feed. */
const NEVER_POLLS = 600_000;
const NEVER_HEARS = "UNLISTEN *";
const disable = (database: Database, { accountId, keyId: publicId }: Customer) =>
  changeKey(database, { accountId, publicId }, { isDisabled: true });

/** @param step before each query. */
function withStep(database: Database, step: (text: string) => Promise<void>): Database {
  const watched = <Reader extends Pick<Database, "query">>(reader: Reader): Reader => ({
    ...reader,
    async query(statement) {
      await step(statement.text);
      return reader.query(statement);
    },
  });
  return { ...watched(database), transaction: (work, options) => database.transaction((inner) => work(watched(inner)), options) };
}

describe("reading changes", () => {
  test("misses no transaction that began before the read and committed after it", async () => {
    const { database } = await postgres.migrated();
    const { accountId, keyId } = await seedLedger(database);
    const started = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const early = database.transaction(async (transaction) => {
      const key = await createApiKey(transaction, { accountId, name: "early", pepper: PEPPER });
      started.resolve();
      await mayCommit.promise;
      return key;
    });
    await started.promise;
    // Begins later, has a higher transaction id, and is there first.
    const late = await createCustomer(database, "late");

    const first = await readChanges(database);
    expect(idsOf(first.keys)).toEqual([keyId, late.keyId].toSorted());
    mayCommit.resolve();
    const { publicId } = await early;
    const second = await readChanges(database, first.seen);
    expect(idsOf(second.keys)).toContain(publicId);
    const third = await readChanges(database, second.seen);
    expect(third).toMatchObject({ accounts: [], keys: [], models: [] });
  });

  test("a transaction that stays open repeats nothing, and what it wrote is returned once it ends", async () => {
    const { database, connect } = await postgres.migrated();
    const customer = await seedLedger(database);
    await createCustomer(database, "other");
    const release = await hold(connect("forgotten"), "UPDATE account SET status = 'suspended' WHERE id = 'other'");
    const before = await readChanges(database);
    await disable(database, customer);
    const first = await readChanges(database, before.seen);
    expect(idsOf(first.keys)).toEqual([customer.keyId]);
    const second = await readChanges(database, first.seen);
    expect(second).toMatchObject({ accounts: [], keys: [], models: [] });
    await release();
    const third = await readChanges(database, second.seen);
    expect(third.accounts).toMatchObject([{ accountId: "other", isSuspended: true }]);
    expect(await readChanges(database, third.seen)).toMatchObject({ accounts: [], keys: [], models: [] });
  });

  test("a row is returned even if a transaction that began before its change changes it again meanwhile", async () => {
    const { database } = await postgres.migrated();
    const { accountId, keyId } = await seedLedger(database);
    const mayCommit = Promise.withResolvers<void>();
    const [began, changesAgain] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const early = database.transaction(async (transaction) => {
      await transaction.execute("SELECT pg_current_xact_id()");
      began.resolve();
      await changesAgain.promise;
      await transaction.execute("UPDATE api_key SET expires_at = now() + interval '1 day' WHERE public_id = $1", [keyId]);
      await mayCommit.promise;
    });
    await began.promise;
    await createAccount(database, { id: "later", name: "Later" });
    const { seen } = await readChanges(database);
    await changeKey(database, { accountId, publicId: keyId }, { isDisabled: true });
    changesAgain.resolve();
    async function endEarly(text: string): Promise<void> {
      if (!/FROM api_key/.test(text)) return;
      mayCommit.resolve();
      await early;
    }
    const { keys } = await readChanges(withStep(database, endEarly), seen);
    expect(keys).toMatchObject([{ publicId: keyId, isDisabled: true }]);
  });

  test("whatever transactions overlap, a reader misses no change", async () => {
    const { database, connect } = await postgres.migrated();
    const writers = connect("writers");
    const accountIds = Array.from({ length: WRITERS * ROUNDS }, (_, number) => `account-${number}`);
    for (const id of accountIds) await createAccount(database, { id, name: "Account" });
    let isWriting = true;
    // Each changes its account once: no later change makes up for one that was missed.
    const write = async (writer: number): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        await writers.transaction(async (transaction) => {
          const id = `account-${writer * ROUNDS + round}`;
          await transaction.execute("UPDATE account_balance SET overdraft_nano_usd = 1 WHERE account_id = $1", [id]);
          await sleep(Math.random() * 30);
        });
      }
    };
    const follow = async (): Promise<Map<string, bigint>> => {
      const known = new Map<string, bigint>();
      let seen = BEGINNING;
      for (let isLast = false; ;) {
        const change = await readChanges(database, seen);
        for (const { accountId, overdraftNanoUsd } of change.accounts) known.set(accountId, overdraftNanoUsd);
        ({ seen } = change);
        if (isLast) return known;
        isLast = !isWriting;
      }
    };
    const reading = follow();
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    isWriting = false;
    const { accounts } = await readChanges(database);
    expect(await reading).toEqual(new Map(accounts.map(({ accountId, overdraftNanoUsd }) => [accountId, overdraftNanoUsd])));
  });

  test("returns only changes, from whichever table", async () => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    await createCustomer(database, "bystander");
    const changesOf = async (change: () => Promise<unknown>) => {
      const { seen } = await readChanges(database);
      await change();
      const { accounts, keys, models } = await readChanges(database, seen);
      return { accounts: accounts.map(({ accountId }) => accountId), keys: keys.length, models: models.length };
    };
    const nothing = { accounts: [], keys: 0, models: 0 };
    expect(await changesOf(() => settle(database, [settlementOf(customer)]))).toEqual({ ...nothing, accounts: ["acme"] });
    expect(await changesOf(() => database.execute("UPDATE account SET status = 'suspended' WHERE id = 'acme'"))).toEqual({
      ...nothing,
      accounts: ["acme"],
    });
    expect(await changesOf(() => disable(database, customer))).toEqual({ ...nothing, keys: 1 });
    expect(await changesOf(() => publishModels(database, []))).toEqual({ ...nothing, models: 1 });
    expect(await changesOf(() => readBalance(database, "acme"))).toEqual(nothing);
  });
});

describe("rows that a newer version wrote", () => {
  /** A key, an account and their neighbours, with a limit of the future. */
  async function seedFuture() {
    const { database } = await postgres.migrated();
    const neighbour = await seedLedger(database);
    const customer = await createCustomer(database, "customer");
    const member = await createCustomer(database, "member");
    const future = `limits || '{"imagesPerMinute": 5}'`;
    await database.execute(`UPDATE api_key SET limits = ${future} WHERE public_id = $1`, [customer.keyId]);
    await database.execute(`UPDATE account SET limits = ${future} WHERE id = 'member'`);
    return { database, neighbour, customer, member };
  }

  test("are reported by kind, id and reason, and hold nothing else back", async () => {
    const { database, neighbour, customer, member } = await seedFuture();
    const { accounts, keys, unreadable } = await readChanges(database);
    expect(idsOf(keys)).toEqual([neighbour.keyId, member.keyId].toSorted());
    expect(accounts.map(({ accountId }) => accountId)).toEqual(["acme", "customer"]);
    const reason: unknown = expect.stringContaining("imagesPerMinute");
    expect(unreadable).toEqual([
      { kind: "account", id: "member", reason },
      { kind: "key", id: customer.keyId, reason },
    ]);
  });

  test("do not prevent a process from starting or from receiving later changes", async () => {
    const { database, neighbour, customer } = await seedFuture();
    const { copy } = await follow(database);
    expect(copy.keys.has(neighbour.keyId)).toBe(true);
    expect(copy.keys.has(customer.keyId)).toBe(false);
    await revokeApiKey(database, neighbour.keyId);
    await eventually(() => expect(copy.keys.get(neighbour.keyId)?.isRevoked).toBe(true));
  });

  test("are deleted like any other", async () => {
    const { database, customer } = await seedFuture();
    const { copy } = await follow(database);
    await revokeApiKey(database, customer.keyId);
    await eventually(() => expect(copy.keys.get(customer.keyId)).toEqual({ publicId: customer.keyId, isRevoked: true }));
  });
});

describe("the feed", () => {
  test("knows everything when it is ready", async () => {
    const { database } = await postgres.migrated();
    const { keyId } = await seedLedger(database);
    await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 7n, reference: "g" });
    const { copy, feed } = await follow(database);
    expect([...copy.keys.keys()]).toEqual([keyId]);
    expect(copy.accounts.get("acme")).toMatchObject({ accountId: "acme", isSuspended: false, postedNanoUsd: 7n });
    expect(copy.models.get("modelx-v4-pro")).toEqual({
      model: catalogueModel("modelx-v4-pro"),
      price: { ...PRICE, id: 1n, version: 1, imagePrices: [], schedule: [], batch: null, providerKeyFee: null },
    });
    expect(feed.lastSuccessAt).toBeGreaterThan(Date.now() - 10_000);
  });

  test("is ready even if there is nothing", async () => {
    const { database } = await postgres.migrated();
    const { copy, feed } = await follow(database);
    expect(feed.lastSuccessAt).not.toBeNull();
    expect(copy.phases).toEqual(["begin", "end"]);
  });

  test("delivers a key's deletion by notification, without waiting for its poll (S25)", async () => {
    const { database, connect } = await postgres.migrated();
    const { accountId } = await seedLedger(database);
    const { copy } = await follow(connect("extproc"), NEVER_POLLS);
    // The first notices may come before the feed listens.
    await eventually(async () => {
      const { publicId } = await createApiKey(database, { accountId, name: "first", pepper: PEPPER });
      await eventually(() => expect(copy.keys.has(publicId)).toBe(true), { withinMs: 500 });
    });
    for (let round = 0; round < 10; round++) {
      const { publicId } = await createApiKey(database, { accountId, name: "short-lived", pepper: PEPPER });
      await eventually(() => expect(copy.keys.get(publicId)?.isRevoked).toBe(false));
      await revokeApiKey(database, publicId);
      await eventually(() => expect(copy.keys.get(publicId)?.isRevoked).toBe(true));
    }
  });

  test("is woken by a notification, without waiting for its poll", async () => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    const { copy } = await follow(database, NEVER_POLLS);
    // The first notices may come before the feed listens.
    await eventually(async () => {
      await settle(database, [settlementOf(customer)]);
      const { postedNanoUsd } = await readBalance(database, "acme");
      await eventually(() => expect(copy.accounts.get("acme")?.postedNanoUsd).toBe(postedNanoUsd), { withinMs: 500 });
    });
  });

  test("polls if no notification arrives", async () => {
    const { database, connect } = await postgres.migrated();
    const customer = await seedLedger(database);
    const deaf = connect("deaf");
    const { copy } = await follow({ ...deaf, listen: async () => void (await deaf.execute(NEVER_HEARS)) }, 100);
    await disable(database, customer);
    await eventually(() => expect(keptKey(copy.keys.get(customer.keyId)).isDisabled).toBe(true));
  });

  test("reports that a model was withdrawn", async () => {
    const { database } = await postgres.migrated();
    await seedLedger(database);
    const { copy } = await follow(database);
    await publishModels(database, []);
    await eventually(() => expect(copy.models.get("modelx-v4-pro")).toEqual({ name: "modelx-v4-pro", isWithdrawn: true }));
  });

  test("repeats a change that its listener could not handle", async () => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    const seen: boolean[] = [];
    const feed = startFeed({
      database,
      pollMs: 50,
      onChange({ keys }) {
        seen.push(...keys.map((key) => keptKey(key).isDisabled));
        if (seen.length === 2) throw new Error("not now");
      },
    });
    onTestFinished(() => feed.stop());
    await feed.ready;
    await disable(database, customer);
    await eventually(() => expect(seen.slice(0, 3)).toEqual([false, true, true]));
  });

  test("resumes after a restart of Postgres, with the changes in between", async () => {
    const { database, connect } = await postgres.migrated();
    const { keyId } = await seedLedger(database);
    const { lines, log } = captureLog();
    const { copy, feed } = await follow(connect("extproc", { log }), 100);
    await postgres.stop();
    const stoppedAt = Date.now();
    await postgres.start();
    expect(copy.keys.get(keyId)?.isRevoked).toBe(false);

    await revokeApiKey(database, keyId);
    // If everything is read again after the revocation, the key is not among it.
    await eventually(() => expect(copy.keys.get(keyId)?.isRevoked).not.toBe(false));
    // A reading succeeds after its changes were delivered.
    await eventually(() => expect(feed.lastSuccessAt).toBeGreaterThanOrEqual(stoppedAt));
    expect(lines.join()).toContain("lost the database's notification connection");
    expect(lines.join()).not.toContain("postgres://");
  });

  test("reads everything again when its listening connection is restored, because it may be another server", async () => {
    const { database, connect } = await postgres.migrated();
    const { keyId } = await seedLedger(database);
    const { copy } = await follow(connect("extproc"), NEVER_POLLS);
    // The statement's answer may come after everything was read again.
    copy.keys.clear();
    await eventually(async () =>
      expect(
        await database.execute(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'extproc listen'",
        ),
      ).toBe(1),
    );
    await eventually(() => expect(copy.phases).toEqual(["begin", "end", "begin", "end"]));
    expect([...copy.keys.keys()]).toEqual([keyId]);
  });

  test("has caught up with everything committed before the call", async () => {
    const { database } = await postgres.migrated();
    const { accountId } = await seedLedger(database);
    const { copy, feed } = await follow(database);
    for (let round = 0; round < 20; round++) {
      const { publicId } = await createApiKey(database, { accountId, name: "new", pepper: PEPPER });
      await feed.caughtUp();
      expect(copy.keys.has(publicId)).toBe(true);
    }
  });

  test("reads immediately when asked to, without notification or poll", async () => {
    const { database, connect } = await postgres.migrated();
    const { accountId } = await seedLedger(database);
    const deaf = connect("deaf");
    const { copy, feed } = await follow({ ...deaf, listen: async () => void (await deaf.execute(NEVER_HEARS)) }, NEVER_POLLS);
    const { publicId } = await createApiKey(database, { accountId, name: "new", pepper: PEPPER });
    const caughtUp = feed.caughtUp();
    feed.readSoon();
    await caughtUp;
    expect(copy.keys.has(publicId)).toBe(true);
  });

  test("has not caught up if it could not read, or was stopped", async () => {
    const { database, connect } = await postgres.migrated();
    await seedLedger(database);
    const away = connect("away");
    const { feed } = await follow(away, 50);
    await away.close();
    await expect(feed.caughtUp()).rejects.toThrow("after calling end");
    await feed.stop();
    await expect(feed.caughtUp()).rejects.toThrow("stopped");
  });

  test("that is stopped before it could read reports that to its callers", async () => {
    const { connect } = await postgres.empty();
    const feed = startFeed({ database: connect("no schema"), onChange: () => {} });
    await feed.stop();
    await expect(feed.ready).rejects.toThrow("stopped");
    expect(feed.lastSuccessAt).toBeNull();
  });
});

interface Copy {
  accounts: Map<string, AccountRow>;
  keys: Map<string, KeyRow>;
  models: Map<string, ModelRow>;
  phases: ("begin" | "end")[];
}

async function follow(database: Database, pollMs?: number): Promise<{ copy: Copy; feed: Feed }> {
  const copy: Copy = { accounts: new Map(), keys: new Map(), models: new Map(), phases: [] };
  let delivered = new Set<string>();
  const feed = startFeed({
    database,
    pollMs,
    onReload(phase) {
      copy.phases.push(phase);
      if (phase === "begin") delivered = new Set();
      else for (const publicId of copy.keys.keys()) if (!delivered.has(publicId)) copy.keys.delete(publicId);
    },
    onChange({ accounts, keys, models }) {
      for (const { publicId } of keys) delivered.add(publicId);
      for (const account of accounts) copy.accounts.set(account.accountId, account);
      for (const key of keys) copy.keys.set(key.publicId, key);
      for (const model of models) copy.models.set("model" in model ? model.model.name : model.name, model);
    },
  });
  onTestFinished(() => feed.stop());
  await feed.ready;
  return { copy, feed };
}

function idsOf(keys: readonly KeyRow[]): string[] {
  return keys.map(({ publicId }) => publicId).toSorted();
}
