import { expect, test } from "vitest";
import * as z from "zod";
import type { Database } from "../../../ledger/postgres/database.ts";
import { eventually } from "../../support/eventually.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();

const TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";

test("bigint, timestamptz, date and bytea are read as bigint, Date, text and Buffer", async () => {
  const { database } = await postgres.empty();
  const rows = await database.query({
    text: `SELECT 9223372036854775807::bigint AS amount, timestamptz '2026-11-21T10:00:00.123Z' AS moment,
             date '2026-11-21' AS day, '\\x00ff'::bytea AS bytes`,
    row: z.strictObject({ amount: z.bigint(), moment: z.date(), day: z.string(), bytes: z.instanceof(Buffer) }),
  });
  expect(rows).toEqual([
    {
      amount: 9_223_372_036_854_775_807n,
      moment: new Date("2026-11-21T10:00:00.123Z"),
      day: "2026-11-21",
      bytes: Buffer.from([0, 255]),
    },
  ]);
});

test("a row with an unexpected shape is an error", async () => {
  const { database } = await postgres.empty();
  await expect(database.query({ text: "SELECT 1 AS a", row: z.strictObject({ a: z.string() }) })).rejects.toThrow(
    "expected string",
  );
});

test("a transaction whose work throws changes nothing", async () => {
  const { database } = await postgres.empty();
  await database.execute("CREATE TABLE note (text text)");
  const work = database.transaction(async (transaction) => {
    await transaction.execute("INSERT INTO note VALUES ('a')");
    throw new Error("changed my mind");
  });
  await expect(work).rejects.toThrow("changed my mind");
  expect(await notes(database)).toEqual([]);
});

test("a transaction that swallowed an error does not count as committed", async () => {
  const { database } = await postgres.empty();
  await database.execute("CREATE TABLE note (text text)");
  const work = database.transaction(async (transaction) => {
    await transaction.execute("INSERT INTO note VALUES ('a')");
    await transaction.execute("SELECT no_such_column").catch(() => 0);
  });
  await expect(work).rejects.toThrow("rolled back");
  expect(await notes(database)).toEqual([]);
});

test("two transactions in a deadlock both commit in the end", async () => {
  const { database } = await postgres.empty();
  await database.execute("CREATE TABLE note (text text)");
  await database.execute("INSERT INTO note VALUES ('a'), ('b')");
  const bothHoldOne = gate(2);
  let runs = 0;
  const update = (first: string, second: string) =>
    database.transaction(async (transaction) => {
      runs++;
      await transaction.execute("UPDATE note SET text = text WHERE text = $1", [first]);
      await bothHoldOne();
      await transaction.execute("UPDATE note SET text = text WHERE text = $1", [second]);
    });
  await Promise.all([update("a", "b"), update("b", "a")]);
  // On a busy machine both may be chosen as the victim, and both run again.
  expect(runs).toBeGreaterThanOrEqual(3);
});

test("a slow statement is cancelled and its connection remains usable", async () => {
  const { database } = await postgres.empty();
  const slow = database.transaction((transaction) => transaction.execute("SELECT pg_sleep(30)"), { statementTimeoutMs: 50 });
  await expect(slow).rejects.toThrow("statement timeout");
  expect(await database.execute("SELECT 1")).toBe(1);
});

test("a read-only transaction cannot write", async () => {
  const { database } = await postgres.empty();
  const work = database.transaction((transaction) => transaction.execute("CREATE TABLE note (text text)"), { isReadOnly: true });
  await expect(work).rejects.toThrow("read-only transaction");
});

test("losing idle and busy connections ends only the work that ran on them", async () => {
  const { database, connect } = await postgres.empty();
  const victim = connect("victim");
  await victim.execute("SELECT 1");
  const held = Promise.withResolvers<void>();
  const busy = victim.transaction(async (transaction) => {
    await transaction.execute("SELECT 1");
    held.resolve();
    await transaction.execute("SELECT pg_sleep(30)");
  });
  const outcome = busy.catch((error: unknown) => String(error));
  await held.promise;
  await eventually(async () => expect(await database.execute(TERMINATE, ["victim"])).toBeGreaterThan(0));
  expect(await outcome).toMatch(/terminat/);
  expect(await victim.execute("SELECT 1")).toBe(1);
});

test("listening resumes after its connection was terminated, and reports that", async () => {
  const { database } = await postgres.empty();
  const stopping = new AbortController();
  let notices = 0;
  let reconnected = 0;
  const listening = database.listen({
    channel: "weather",
    signal: stopping.signal,
    onNotice: () => notices++,
    onReconnected: () => reconnected++,
  });
  await eventually(async () => {
    await database.execute("NOTIFY weather");
    expect(notices).toBeGreaterThan(0);
  });
  expect(reconnected).toBe(0);

  expect(await database.execute(TERMINATE, ["test listen"])).toBe(1);
  await eventually(() => expect(reconnected).toBe(1));
  const before = notices;
  await database.execute("NOTIFY weather");
  await eventually(() => expect(notices).toBe(before + 1));

  stopping.abort();
  await listening;
});

test("closing the database ends the listening on it", async () => {
  const { connect } = await postgres.empty();
  const database = connect("short-lived");
  const signal = new AbortController().signal;
  const listening = database.listen({ channel: "weather", signal, onNotice: () => {}, onReconnected: () => {} });
  await Promise.all([database.close(), listening]);
  await expect(database.execute("SELECT 1")).rejects.toThrow("after calling end");
});

async function notes(database: Database) {
  return database.query({ text: "SELECT text FROM note", row: z.strictObject({ text: z.string() }) });
}

/** Lets nobody through until `count` have come; open from then on. */
function gate(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let came = 0;
  return () => {
    if (++came >= count) resolve();
    return promise;
  };
}
