import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { createDatabase } from "../../ledger/postgres/database.ts";
import { boundResponses } from "../../ledger/responses/bound-responses.ts";
import { dropExpiredResponses, writeResponses } from "../../ledger/responses/write-responses.ts";
import { createSealer } from "../../ledger/sealer.ts";
import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import { startRounds } from "../../runtime/wait.ts";
import { createResponseStore, describe, type ResponseStore } from "./store.ts";
import { createSlices, type SlicesOptions } from "./slices.ts";
import { createWriteQueue, type WriteQueueDeps } from "./write-queue.ts";

export interface StoredResponses {
  store: ResponseStore;
  /** Of all accounts, as last counted. */
  readonly bytes: number;
  /** Writes queued responses. */
  drain(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface StoredResponsesConfig {
  databaseUrl: string;
  pepper: Buffer;
  /** Approximate limit of all accounts together; beyond it, responses are dropped. */
  maxStoredBytes: number;
  /** Monotonic. */
  clock: SlicesOptions["clock"];
  log: Logger;
  onResult: WriteQueueDeps["onResult"];
  onDropped(responses: number): void;
}

const MEBIBYTE = 1024 * 1024;
const MAX_CONNECTIONS = 3;
const STATEMENT_TIMEOUT_MS = 5_000;
const EXPIRE_EVERY_MS = 60_000;
const BOUND_EVERY_MS = 5_000;

/** Uses its own connections, so that settlements and leases never wait for stored responses. */
export function startStoredResponses(config: StoredResponsesConfig): StoredResponses {
  const { databaseUrl, pepper, maxStoredBytes, clock, log, onResult, onDropped } = config;
  const database = createDatabase({
    url: databaseUrl,
    applicationName: "extproc responses",
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    log,
  });
  const outage = createOutage({ log, failing: "responses cannot be stored", over: "responses are stored again" });
  const sealer = createSealer(pepper, "stored responses");
  const queue = createWriteQueue({
    write: (batch) => writeResponses(database, batch),
    seal: (plain, about) => sealer.seal(plain, describe(about)),
    onResult,
    onFailed: outage.failed,
    onWritten: outage.over,
  });
  const expiry = startRounds(async () => void (await dropExpiredResponses(database)), {
    everyMs: EXPIRE_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to delete expired responses; retrying"),
  });
  let bytes = 0;
  async function bound(): Promise<void> {
    const bounded = await boundResponses(database, {
      maxBytes: maxStoredBytes,
      maxAccountBytes: ACCOUNT_BOUNDS.storedMebibytes * MEBIBYTE,
      maxAccountResponses: ACCOUNT_BOUNDS.storedResponses,
    });
    bytes = bounded.bytes;
    if (bounded.dropped > 0) onDropped(bounded.dropped);
  }
  const bounds = startRounds(bound, {
    everyMs: BOUND_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to enforce the bounds on stored responses; retrying"),
  });
  return {
    get bytes() {
      return bytes;
    },
    store: createResponseStore({ database, sealer, queue, slices: createSlices({ clock, defer: setImmediate }) }),
    drain: queue.drain,
    async close() {
      await Promise.all([expiry.stop(), bounds.stop()]);
      await database.close();
    },
  };
}
