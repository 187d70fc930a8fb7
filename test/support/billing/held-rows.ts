import { expect, onTestFinished } from "vitest";
import * as z from "zod";
import type { Database } from "../../../ledger/postgres/database.ts";

/**
 * Executes a statement in a transaction that stays open, with its locks, until the test releases it or ends.
 * @returns what ends the transaction.
 */
export async function hold(database: Database, text: string, values: readonly unknown[] = []): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const transaction = database.transaction(async (held) => {
    await held.execute(text, values);
    locked.resolve();
    await released.promise;
  });
  // A statement that fails never locks.
  await Promise.race([locked.promise, transaction]);
  onTestFinished(() => released.resolve());
  return async () => {
    released.resolve();
    await transaction;
  };
}

/** @param count how many transactions of this database wait for a lock at the moment. */
export async function expectToWait(database: Database, count: number): Promise<void> {
  const [row] = await database.query({
    text: `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    row: z.strictObject({ waiting: z.int() }),
  });
  expect(row?.waiting).toBe(count);
}
