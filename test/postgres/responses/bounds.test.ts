import { expect, test } from "vitest";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { boundResponses } from "../../../ledger/responses/bound-responses.ts";
import { dropExpiredResponses, writeResponses } from "../../../ledger/responses/write-responses.ts";
import { expire, sealed, useResponseStores } from "./harness-responses.ts";

/** How many responses, and how much of them, an account may store. */
const storeFor = useResponseStores();
const MEBIBYTE = 1024 * 1024;

test("an account stores a bounded number of responses and bytes per hour, and others are not affected", async () => {
  const { database } = await storeFor();
  const many = Array.from({ length: 10 }, (_, index) => sealed("acme", `r${index}`));
  expect(await writeResponses(database, many)).toEqual(new Set());
  await database.execute("UPDATE stored_response_volume SET responses = $1", [ACCOUNT_BOUNDS.storedResponsesAnHour - 1]);
  expect(await writeResponses(database, [sealed("acme", "last")])).toEqual(new Set());
  expect(await writeResponses(database, [sealed("acme", "more"), sealed("other", "r1")])).toEqual(new Set(["acme"]));
  await database.execute("UPDATE stored_response_volume SET responses = 0, bytes = $1", [
    BigInt(ACCOUNT_BOUNDS.storedMebibytesAnHour * MEBIBYTE) - 100n,
  ]);
  expect(await writeResponses(database, [sealed("acme", "large", 101)])).toEqual(new Set(["acme"]));
  expect(await writeResponses(database, [sealed("acme", "small", 100)])).toEqual(new Set());
});

test("an account that does not exist stores nothing, and does not break the batch", async () => {
  const { database } = await storeFor();
  expect(await writeResponses(database, [sealed("nobody", "r1"), sealed("acme", "r1")])).toEqual(new Set(["nobody"]));
});

const ROOMY = { maxBytes: 1_000_000, maxAccountBytes: 1_000_000, maxAccountResponses: 1_000 };

async function totals(database: Database) {
  return await database.query({
    text: `SELECT account_id AS "accountId", responses, bytes::integer FROM stored_response_total WHERE responses > 0 ORDER BY account_id`,
    row: z.strictObject({ accountId: z.string(), responses: z.int(), bytes: z.int() }),
  });
}

async function storedIds(database: Database): Promise<string[]> {
  const rows = await database.query({
    text: 'SELECT response_id AS "responseId" FROM stored_response ORDER BY account_id, response_id',
    row: z.strictObject({ responseId: z.string() }),
  });
  return rows.map(({ responseId }) => responseId);
}

/** @param minutes from now at which each of them expires. */
async function expireLater(database: Database, minutes: Readonly<Record<string, number>>): Promise<void> {
  for (const [id, later] of Object.entries(minutes))
    await database.execute(
      "UPDATE stored_response SET expires_at = now() + make_interval(mins => $2::integer) WHERE response_id = $1",
      [id, later],
    );
}

test("each account's storage is counted, whoever writes or deletes it", async () => {
  const { store, database } = await storeFor();
  await writeResponses(database, [
    sealed("other", "o1", 7),
    sealed("acme", "a1", 100),
    sealed("acme", "a2", 30),
    sealed("acme", "a1"),
  ]);
  const both = [
    { accountId: "acme", responses: 2, bytes: 130 },
    { accountId: "other", responses: 1, bytes: 7 },
  ];
  expect(await totals(database)).toEqual(both);
  await store.remove("acme", "a1");
  await expire(database, "o1");
  await dropExpiredResponses(database);
  expect(await totals(database)).toEqual([{ accountId: "acme", responses: 1, bytes: 30 }]);
});

test("an account beyond its bounds loses the responses that would expire first, and no other account loses any", async () => {
  const { database } = await storeFor();
  const acme = ["a1", "a2", "a3", "a4"].map((id) => sealed("acme", id, 100));
  await writeResponses(database, [sealed("other", "o1", 300), ...acme]);
  await expireLater(database, { a1: 30, a2: 10, a3: 40, a4: 20, o1: 1 });
  expect(await boundResponses(database, { ...ROOMY, maxAccountBytes: 400 })).toEqual({ bytes: 700, dropped: 0 });
  expect(await boundResponses(database, { ...ROOMY, maxAccountBytes: 399 })).toMatchObject({ dropped: 1 });
  expect(await storedIds(database)).toEqual(["a1", "a3", "a4", "o1"]);
  expect(await boundResponses(database, { ...ROOMY, maxAccountResponses: 1 })).toMatchObject({ bytes: 400, dropped: 2 });
  expect(await storedIds(database)).toEqual(["a3", "o1"]);
});

test("beyond the bound for all accounts, those that store most lose responses, and one that stores little keeps all", async () => {
  const { database } = await storeFor();
  const acme = Array.from({ length: 10 }, (_, index) => sealed("acme", `a${index}`, 100));
  await writeResponses(database, [sealed("other", "o1", 100), ...acme]);
  expect(await boundResponses(database, { ...ROOMY, maxBytes: 1_100 })).toEqual({ bytes: 1_100, dropped: 0 });
  // Down to 95 %: 950 bytes.
  expect(await boundResponses(database, { ...ROOMY, maxBytes: 1_000 })).toEqual({ bytes: 900, dropped: 2 });
  expect(await storedIds(database)).toContain("o1");
  expect(await boundResponses(database, { ...ROOMY, maxBytes: 1_000 })).toEqual({ bytes: 900, dropped: 0 });
  // Two that store the same both lose some.
  await writeResponses(
    database,
    Array.from({ length: 6 }, (_, index) => sealed("other", `p${index}`, 100)),
  );
  await boundResponses(database, { ...ROOMY, maxBytes: 500 });
  expect((await totals(database)).map(({ bytes }) => bytes)).toEqual([200, 200]);
});

test("a wrong count of an account is corrected before any of its responses are dropped", async () => {
  const { database } = await storeFor();
  await writeResponses(database, [sealed("acme", "a1", 100), sealed("other", "o1", 100)]);
  await database.execute("UPDATE stored_response_total SET bytes = 5000 WHERE account_id = 'acme'");
  expect(await boundResponses(database, { ...ROOMY, maxBytes: 1_000 })).toEqual({ bytes: 200, dropped: 0 });
  expect(await totals(database)).toEqual(["acme", "other"].map((accountId) => ({ accountId, responses: 1, bytes: 100 })));
});

test("several processes that enforce the bound and write concurrently drop no more than one would", async () => {
  const { database } = await storeFor();
  await writeResponses(
    database,
    Array.from({ length: 100 }, (_, index) => sealed("acme", `a${index}`, 100)),
  );
  const bound = () => boundResponses(database, { ...ROOMY, maxBytes: 5_000 });
  const write = (id: string) => writeResponses(database, [sealed("other", id, 10), sealed("acme", id, 10)]);
  await Promise.all([bound(), write("b1"), bound(), write("b2"), bound(), write("b3")]);
  await bound();
  const ids = await storedIds(database);
  expect(ids.length).toBeGreaterThanOrEqual(47);
  expect((await totals(database)).reduce((sum, { responses }) => sum + responses, 0)).toBe(ids.length);
});
