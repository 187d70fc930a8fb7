import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { listUnsent, takeEnding } from "../../../ledger/batches/ending.ts";
import { readBatchFigures } from "../../../ledger/batches/figures.ts";
import { keepRequests, takeRequests } from "../../../ledger/batches/sending.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** What sending and ending batches asks of the database (S58). */
const postgres = usePostgres();

const BATCHES = 10;
const REQUESTS = 2_000;

/** Batches that run, none of whose requests was sent. */
async function load(database: Database, { batches, requests }: { batches: number; requests: number }): Promise<string[]> {
  await seedLedger(database);
  const ids = Array.from({ length: batches }, (_, index) => `batch_${String(index).padStart(32, "0")}`);
  for (const id of ids) {
    await database.execute(
      `INSERT INTO batch (id, account_id, key_id, interface, state, requests, due_at)
       VALUES ($1, 'acme', 'key', 'chat', 'running', $2, now() + interval '1 day')`,
      [id, requests],
    );
    await database.execute(
      `INSERT INTO batch_request (batch_id, number, custom_id, body, body_bytes)
       SELECT $1, number, 'request ' || number, 'sealed', 100 FROM generate_series(1, $2) AS number`,
      [id, requests],
    );
  }
  return ids;
}

const readsRow = z.strictObject({ reads: z.bigint().transform(Number) });

/** @returns how many requests of batches the work reads. */
async function readsOf(database: Database, work: (queryable: Queryable) => Promise<unknown>): Promise<number> {
  return database.transaction(async (transaction) => {
    // Of this connection, since it reported them last.
    const before = await countReads(transaction);
    await work(transaction);
    return (await countReads(transaction)) - before;
  });
}

async function countReads(transaction: Queryable): Promise<number> {
  const [row] = await transaction.query({
    text: "SELECT (seq_tup_read + idx_tup_fetch)::bigint AS reads FROM pg_stat_xact_user_tables WHERE relname = 'batch_request'",
    row: readsRow,
  });
  return row?.reads ?? 0;
}

test("whatever batches there are, sending and ending them reads a few of their requests (S58)", async () => {
  const { database } = await postgres.migrated();
  const ids = await load(database, { batches: BATCHES, requests: REQUESTS });
  const few = REQUESTS / 4;

  async function expectFew(when: string): Promise<void> {
    const holder = randomUUID();
    const taking = await readsOf(database, (transaction) =>
      takeRequests({ ...database, transaction: (work) => work(transaction) }, { holder, limit: 8 }),
    );
    expect(taking, `${when}: taken`).toBeLessThan(few);
    expect(await readsOf(database, takeEnding), `${when}: ended`).toBeLessThan(few);
    expect(await readsOf(database, readBatchFigures), `${when}: counted`).toBeLessThan(few);
    const unsent = await readsOf(database, (transaction) => listUnsent(transaction, ids[0] ?? ""));
    expect(unsent, `${when}: closed`).toBeLessThan(few);
    await database.execute("UPDATE batch_request SET state = 'waiting' WHERE state = 'sent'");
  }

  const figures = { preparing: 0, running: BATCHES, ending: 0, openRequests: BATCHES * REQUESTS, sentRequests: 0 };
  expect(await readBatchFigures(database)).toMatchObject(figures);
  await expectFew("before statistics");
  await database.execute("ANALYZE batch_request");
  await expectFew("while all wait");
  for (const id of ids)
    await database.execute("UPDATE batch_request SET state = 'succeeded', body = NULL WHERE batch_id = $1 AND number < $2", [
      id,
      REQUESTS,
    ]);
  await expectFew("with statistics of before");
  await database.execute("ANALYZE batch_request");
  await expectFew("when nearly all are done");
}, 120_000);

test("a request that its process has taken and knows nothing of is taken over (S58)", async () => {
  const { database } = await postgres.migrated();
  await load(database, { batches: 1, requests: 2 });
  await database.execute("UPDATE batch SET width = 4");
  const holder = randomUUID();
  const known = (await takeRequests(database, { holder, limit: 2 })).slice(0, 1);
  expect(known).toMatchObject([{ number: 1 }]);
  await database.execute("UPDATE batch_request SET taken_until = now() - interval '1 second'");
  // The process lost its connection just when it had taken the second one.
  await keepRequests(database, { holder, requests: known });
  const taken = await takeRequests(database, { holder: randomUUID(), limit: 2 });
  expect(taken.map(({ number }) => number)).toEqual([2]);
});
