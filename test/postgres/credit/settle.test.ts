import * as fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createPartitionsAhead, createPartitionsFor } from "../../../ledger/postgres/partitions.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import {
  countRows,
  createCustomer,
  seedLedger,
  settlementOf,
  wrongBalances,
  type Customer,
} from "../../support/billing/ledger.ts";
import { eventually } from "../../support/eventually.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

test("a settlement leaves one usage row, one entry and the balance minus its charge (S28)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 5_000_000_000n, reference: "g" });
  const startedAt = new Date("2026-11-21T10:00:00.123Z");
  const requestId = uuidv7({ msecs: startedAt.getTime() });
  const settlement = settlementOf(customer, { requestId, startedAt, isStream: true, firstTokenMs: 33, interface: "messages" });
  const result = await settle(database, [settlement]);

  expect(result).toEqual({
    settled: 1,
    left: [],
    balances: new Map([["acme", { postedNanoUsd: 4_999_910_000n, version: expect.any(BigInt) }]]),
  });
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(4_999_910_000n);
  expect(await everything(database, "usage_event")).toMatchObject([
    {
      day: "2026-11-21",
      request_id: requestId,
      attempt: 1,
      account_id: "acme",
      key_id: customer.keyId,
      model: "modelx-v4-pro",
      interface: "messages",
      upstream_protocol: "chat",
      backend: "main",
      price_version_id: 1n,
      input_tokens: 100n,
      cached_input_tokens: 0n,
      cache_write_tokens: 0n,
      output_tokens: 50n,
      reasoning_tokens: 10n,
      units: 0n,
      is_estimated: false,
      charge_nano_usd: 90_000n,
      http_status: 200,
      outcome: "complete",
      is_stream: true,
      started_at: startedAt,
      duration_ms: 420,
      first_token_ms: 33,
    },
  ]);
  expect(await everything(database, "ledger_entry WHERE kind = 'usage'")).toMatchObject([
    { account_id: "acme", amount_nano_usd: -90_000n, counter_account: "revenue", request_id: requestId, attempt: 1 },
  ]);
});

test("settling twice changes nothing the second time and still returns the balance", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const batch = [settlementOf(customer), settlementOf(customer)];
  expect((await settle(database, batch)).settled).toBe(2);
  expect(await settle(database, batch)).toEqual({
    settled: 0,
    left: [],
    balances: new Map([["acme", { postedNanoUsd: -180_000n, version: expect.any(BigInt) }]]),
  });
  expect(await countRows(database, "ledger_entry")).toBe(2n);
});

test("a settlement that appears twice in one batch counts once", async () => {
  const { database } = await postgres.migrated();
  const settlement = settlementOf(await seedLedger(database));
  expect(await settle(database, [settlement, settlement])).toEqual({
    settled: 1,
    left: [],
    balances: new Map([["acme", { postedNanoUsd: -90_000n, version: expect.any(BigInt) }]]),
  });
});

test("a second attempt of the same request is charged separately", async () => {
  const { database } = await postgres.migrated();
  const settlement = settlementOf(await seedLedger(database));
  await settle(database, [settlement]);
  expect((await settle(database, [{ ...settlement, attempt: 2 }])).balances.get("acme")?.postedNanoUsd).toBe(-180_000n);
});

test("a zero charge leaves a usage row and no entry", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const result = await settle(database, [settlementOf(customer, { chargeNanoUsd: 0n, outcome: "failed", httpStatus: 503 })]);
  expect(result).toEqual({
    settled: 1,
    balances: new Map([["acme", { postedNanoUsd: 0n, version: expect.any(BigInt) }]]),
    left: [],
  });
  expect(await countRows(database, "usage_event")).toBe(1n);
  expect(await countRows(database, "ledger_entry")).toBe(0n);
});

test("usage dropped after its retention time is not charged again by a replay", async () => {
  const { database } = await postgres.migrated();
  const settlement = settlementOf(await seedLedger(database));
  await settle(database, [settlement]);
  await database.execute(
    `DO $$ DECLARE part regclass; BEGIN FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'usage_event'::regclass LOOP EXECUTE format('DROP TABLE %s', part); END LOOP; END $$`,
  );
  expect((await settle(database, [settlement])).balances.get("acme")?.postedNanoUsd).toBe(-90_000n);
  expect(await wrongBalances(database)).toEqual([]);
});

test.for([90_000n, 0n])("an account that does not exist, charged %s, makes the whole batch fail", async (chargeNanoUsd) => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const batch = [settlementOf(customer), settlementOf({ ...customer, accountId: "nobody" }, { chargeNanoUsd })];
  await expect(settle(database, batch)).rejects.toThrow("There is no account nobody");
  expect(await countRows(database, "usage_event")).toBe(0n);
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(0n);
});

test.for([
  ["a negative charge", { chargeNanoUsd: -1n }],
  ["attempt 0", { attempt: 0 }],
  ["an id that is no UUIDv7", { requestId: "0d9cbd9c-4f4b-4f0f-9a6c-0f9a3a1f6f5e" }],
] as const)("%s is rejected and changes nothing", async ([, changes]) => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await createPartitionsAhead(database, "1970-01-01", 1);
  await expect(settle(database, [settlementOf(customer, changes)])).rejects.toThrow(/check constraint|no partition/);
  expect(await countRows(database, "usage_event")).toBe(0n);
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(0n);
});

test.for([
  ["a clock that ran backwards", { durationMs: -5, firstTokenMs: -1 }],
  ["a stream of a month", { durationMs: 2 ** 40, firstTokenMs: 0.4 }],
] as const)("%s does not prevent a charge from being settled", async ([, changes]) => {
  const { database } = await postgres.migrated();
  expect((await settle(database, [settlementOf(await seedLedger(database), changes)])).settled).toBe(1);
});

describe("the day of a request", () => {
  test.for([
    ["2026-11-20T23:59:59.999Z", "2026-11-20"],
    ["2026-11-21T00:00:00.000Z", "2026-11-21"],
    ["2024-02-29T12:00:00.000Z", "2024-02-29"],
    ["1999-12-31T23:59:59.999Z", "1999-12-31"],
  ] as const)("of %s is the UTC day %s, in a separate partition", async ([moment, day]) => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    await settle(database, [settlementOf(customer, { requestId: uuidv7({ msecs: Date.parse(moment) }) })]);
    const partition = `usage_event_${day.replaceAll("-", "")}`;
    expect(await everything(database, partition)).toMatchObject([{ day }]);
  });

  test("cannot be forged: a row under another day is rejected", async () => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    await settle(database, [settlementOf(customer, { requestId: uuidv7({ msecs: Date.parse("2026-11-21T10:00:00Z") }) })]);
    await createPartitionsAhead(database, "2026-11-22", 1);
    const copy = `INSERT INTO usage_event SELECT (jsonb_populate_record(usage_event, '{"day": "2026-11-22"}')).* FROM usage_event`;
    await expect(database.execute(copy)).rejects.toThrow("check constraint");
  });

  test("usage rows are never changed", async () => {
    const { database } = await postgres.migrated();
    await settle(database, [settlementOf(await seedLedger(database))]);
    await expect(database.execute("UPDATE usage_event SET charge_nano_usd = 0")).rejects.toThrow("is not allowed");
    await expect(database.execute("DELETE FROM usage_event")).rejects.toThrow("is not allowed");
  });

  test("future partitions are created once, even by concurrent processes", async () => {
    const { database, connect } = await postgres.migrated();
    const made = await Promise.all([1, 2, 3].map((number) => createPartitionsAhead(connect(`maker ${number}`), "2026-11-21", 4)));
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(4);
    expect(await createPartitionsAhead(database, "2026-11-22", 4)).toBe(1);
  });
});

test("whoever needs a partition that another process is creating waits for its end", async () => {
  const { database, connect } = await postgres.migrated();
  const requestId = uuidv7({ msecs: Date.parse("2026-11-21T10:00:00Z") });
  await createPartitionsFor(database, [requestId]);
  const release = await hold(connect("maker"), "LOCK TABLE ONLY usage_event IN SHARE UPDATE EXCLUSIVE MODE");
  let isDone = false;
  const needed = createPartitionsFor(database, [requestId]).finally(() => (isDone = true));
  await eventually(() => expectToWait(database, 1));
  expect(isDone).toBe(false);
  await release();
  expect(await needed).toBe(0);
});

test("the same batch from eight concurrent writers is charged once", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const batch = Array.from({ length: 50 }, () => settlementOf(customer));
  const results = await Promise.all(Array.from({ length: 8 }, () => settle(database, shuffled(batch))));
  expect(results.reduce((sum, { settled }) => sum + settled, 0)).toBe(50);
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(-4_500_000n);
});

test("writers over the same accounts in any order never deadlock", async () => {
  const { database, connect } = await postgres.migrated();
  const customers = await severalCustomers(database, 12);
  await createPartitionsAhead(database, new Date().toISOString().slice(0, 10), 2);
  const lines = captureLog();
  await Promise.all(
    [1, 2, 3, 4, 5, 6].map(async (writer) => {
      const own = connect(`writer ${writer}`, { log: lines.log });
      for (let round = 0; round < 15; round++) {
        await settle(
          own,
          shuffled(customers).map((customer) => settlementOf(customer)),
        );
      }
    }),
  );
  expect(await countRows(database, "usage_event")).toBe(6n * 15n * 12n);
  expect(await wrongBalances(database)).toEqual([]);
  // A deadlock would have been retried and logged.
  expect(lines.lines).toEqual([]);
});

test("after any sequence of credits, settlements and replays each balance is the sum of its entries", async () => {
  const { database } = await postgres.migrated();
  const customers = await severalCustomers(database, 3);
  const known: Settlement[] = [];
  const who = fc.nat(2);
  const steps = fc.oneof(
    fc.record({ kind: fc.constant("credit" as const), who, amount: fc.bigInt(1n, 10n ** 12n), reference: fc.nat(5) }),
    fc.record({
      kind: fc.constant("settle" as const),
      charges: fc.array(fc.tuple(who, fc.bigInt(0n, 10n ** 10n)), { maxLength: 8 }),
    }),
    fc.record({ kind: fc.constant("replay" as const), count: fc.nat(8) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(steps, { maxLength: 4 }), { maxLength: 5 }), async (rounds) => {
      for (const round of rounds) {
        // The steps of a round run at the same time.
        await Promise.allSettled(
          round.map(async (step) => {
            switch (step.kind) {
              case "credit": {
                const accountId = customers[step.who]?.accountId ?? "";
                return postCredit(database, {
                  accountId,
                  kind: "grant",
                  amountNanoUsd: step.amount,
                  reference: `r${step.reference}`,
                });
              }
              case "settle": {
                const batch = step.charges.flatMap(([index, chargeNanoUsd]) =>
                  customers.slice(index, index + 1).map((customer) => settlementOf(customer, { chargeNanoUsd })),
                );
                known.push(...batch);
                return settle(database, batch);
              }
              case "replay":
                return settle(database, known.slice(-step.count));
            }
          }),
        );
      }
      expect(await wrongBalances(database)).toEqual([]);
    }),
    { numRuns: 40 },
  );
  await settle(database, known);
  expect(await countRows(database, "usage_event")).toBe(BigInt(known.length));
  expect(await wrongBalances(database)).toEqual([]);
});

test("settling marks its key as used, to the minute, without notifying the feed's followers", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const first = new Date("2026-11-21T10:00:00Z");
  const readKey = () => everything(database, "api_key");
  const [before] = await readKey();
  await settle(database, [settlementOf(customer, { startedAt: first })]);
  expect(await readKey()).toMatchObject([{ ...before, last_used_at: first }]);
  await settle(database, [settlementOf(customer, { startedAt: new Date("2026-11-21T10:00:59Z") })]);
  expect(await readKey()).toMatchObject([{ last_used_at: first }]);
  await settle(database, [settlementOf(customer, { startedAt: new Date("2026-11-21T10:01:30Z") })]);
  expect(await readKey()).toMatchObject([{ last_used_at: new Date("2026-11-21T10:01:30Z") }]);
});

test("a changed balance stays on its page and updates no index", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  for (let round = 0; round < 50; round++) await settle(database, [settlementOf(customer)]);
  // Connections report what they counted once a second, with the transaction that comes after.
  const updates = await eventually(async () => {
    const [counted] = await database.query({
      text: `SELECT pg_stat_get_tuples_updated('account_balance'::regclass) AS updated,
               pg_stat_get_tuples_hot_updated('account_balance'::regclass) AS hot`,
      row: z.strictObject({ updated: z.bigint(), hot: z.bigint() }),
    });
    expect(counted?.updated).toBe(50n);
    return counted;
  });
  expect(updates?.hot).toBe(50n);
});

async function severalCustomers(database: Database, count: number): Promise<Customer[]> {
  const customers = [await seedLedger(database, "customer-0")];
  for (let number = 1; number < count; number++) customers.push(await createCustomer(database, `customer-${number}`));
  return customers;
}

async function everything(database: Database, from: string): Promise<Record<string, unknown>[]> {
  return database.query({ text: `SELECT * FROM ${from}`, row: z.record(z.string(), z.unknown()) });
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
