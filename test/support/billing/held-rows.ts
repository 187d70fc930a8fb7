import { onTestFinished } from "vitest";
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
