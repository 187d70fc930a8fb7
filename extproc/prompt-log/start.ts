import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { createDatabase } from "../../ledger/postgres/database.ts";
import { createPromptSealer } from "../../ledger/prompt-log/content.ts";
import { boundRecords, dropExpiredRecords } from "../../ledger/prompt-log/upkeep.ts";
import { writeRecords } from "../../ledger/prompt-log/write-records.ts";
import type { Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import { startRounds } from "../../runtime/wait.ts";
import { beginRecording, type BegunRequest, type Recording } from "./recording.ts";
import { createRecordRoom } from "./room.ts";
import { createRecordQueue, type RecordQueueDeps } from "./write-queue.ts";

/** Prompts and answers of keys that have a prompt log (docs/prompt-log.md). */
export interface PromptLog {
  /** @returns null if nothing of the request is recorded. */
  begin(request: BegunRequest): Recording | null;
}

export interface RunningPromptLog extends PromptLog {
  /** Of all accounts, as last counted. */
  readonly bytes: number;
  /** Writes what is queued. */
  drain(withinMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface PromptLogConfig {
  databaseUrl: string;
  pepper: Buffer;
  /** Approximate limit of all accounts together; beyond it, the oldest records of the account that has most go. 0: nothing is recorded. */
  maxPromptLogBytes: number;
  /** The first worker deletes. */
  worker: { number: number };
  log: Logger;
  onResult: RecordQueueDeps["onResult"];
  onDropped(records: number): void;
}

const MEBIBYTE = 1024 * 1024;
const MAX_CONNECTIONS = 2;
const STATEMENT_TIMEOUT_MS = 10_000;
const EXPIRE_EVERY_MS = 60_000;
const BOUND_EVERY_MS = 10_000;

/** Uses its own connections, so that settlements and leases never wait for records. */
export function startPromptLog(config: PromptLogConfig): RunningPromptLog {
  const { databaseUrl, pepper, maxPromptLogBytes, worker, log, onResult, onDropped } = config;
  const database = createDatabase({
    url: databaseUrl,
    applicationName: "extproc prompt log",
    maxConnections: MAX_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    log,
  });
  const outage = createOutage({ log, failing: "prompts cannot be recorded", over: "prompts are recorded again" });
  const room = createRecordRoom();
  const queue = createRecordQueue({
    write: (batch) => writeRecords(database, batch),
    seal: createPromptSealer(pepper).seal,
    onResult,
    onFailed: outage.failed,
    onWritten: outage.over,
  });
  const deps = { room, queue, onNoRoom: () => onResult("no_room", 1) };
  let bytes = 0;

  async function bound(): Promise<void> {
    const bounded = await boundRecords(database, {
      maxBytes: maxPromptLogBytes,
      maxAccountBytes: ACCOUNT_BOUNDS.promptLogMebibytes * MEBIBYTE,
      maxAccountRecords: ACCOUNT_BOUNDS.promptLogRecords,
    });
    bytes = bounded.bytes;
    if (bounded.dropped > 0) onDropped(bounded.dropped);
  }

  const rounds =
    worker.number > 0
      ? []
      : [
          startRounds(() => dropExpiredRecords(database, Date.now()), {
            everyMs: EXPIRE_EVERY_MS,
            onFailure: (error) => log.warn({ err: error }, "failed to delete expired prompts; retrying"),
          }),
          startRounds(bound, {
            everyMs: BOUND_EVERY_MS,
            onFailure: (error) => log.warn({ err: error }, "failed to enforce the bounds on recorded prompts; retrying"),
          }),
        ];
  return {
    begin: (request) => (maxPromptLogBytes === 0 ? null : beginRecording(request, deps)),
    get bytes() {
      return bytes;
    },
    drain: queue.drain,
    async close() {
      await Promise.all(rounds.map((each) => each.stop()));
      await database.close();
    },
  };
}
