import { createSlices } from "../../../extproc/stored-responses/slices.ts";
import { createResponseStore, describe as about } from "../../../extproc/stored-responses/store.ts";
import { createWriteQueue } from "../../../extproc/stored-responses/write-queue.ts";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { writeResponses, type NewResponse } from "../../../ledger/responses/write-responses.ts";
import { createSealer } from "../../../ledger/sealer.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Stores of responses, each on a database of its own, for all tests of a file. */
export function useResponseStores() {
  const postgres = usePostgres();
  return async function storeFor(pepper = PEPPER, known?: Database, clock = { nowMs: () => performance.now() }) {
    const database = known ?? (await postgres.migrated()).database;
    for (const id of ["acme", "other"]) await createAccount(database, { id, name: id });
    const sealer = createSealer(pepper, "test");
    const slices = createSlices({ clock, defer: setImmediate });
    const results: string[] = [];
    const queue = createWriteQueue({
      write: (batch) => writeResponses(database, batch),
      seal: (plain, part) => sealer.seal(plain, about(part)),
      onResult: (result) => results.push(result),
      onFailed: () => {},
      onWritten: () => {},
    });
    return { database, results, store: createResponseStore({ database, sealer, queue, slices }) };
  };
}

/** Their time is over from now on. */
export async function expire(database: Database, ...ids: string[]): Promise<void> {
  await database.execute("UPDATE stored_response SET expires_at = now() WHERE response_id = ANY($1)", [ids]);
}

/** One without a turn's content, of this size. */
export function sealed(accountId: string, responseId: string, bytes = 10): NewResponse {
  const facts = { accountId, responseId, previousResponseId: null, itemIds: [], storeHours: 1, usedResponseIds: [] };
  return { ...facts, input: Buffer.alloc(bytes), response: Buffer.alloc(0) };
}
