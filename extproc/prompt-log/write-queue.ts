import type { PromptContent, PromptSealer } from "../../ledger/prompt-log/content.ts";
import { isDataRefused } from "../../ledger/postgres/postgres-error.ts";
import type { NewRecord } from "../../ledger/prompt-log/write-records.ts";
import { backOffMs, pause } from "../../runtime/wait.ts";
import type { TakenRoom } from "./room.ts";

/** A request that is over. */
export interface FinishedRecord extends Omit<NewRecord, "content" | "requestBytes" | "answerBytes"> {
  content: PromptContent;
  /** Is released when it is written or lost. */
  room: TakenRoom;
}

export type RecordResult =
  | "stored"
  /** Too much is recorded at the moment, or by the account. */
  | "no_room"
  /** Its key has no prompt log any more, or its record was to be deleted. */
  | "unwanted"
  /** Postgres accepted it in none of several attempts. */
  | "failed";

/** Encrypts records and writes them to the database, long after their clients were answered. What it cannot take is lost, and counted. */
export interface RecordQueue {
  /** Never waits, never throws. */
  add(record: FinishedRecord): void;
  /** Writes what is queued. */
  drain(withinMs: number): Promise<void>;
}

export interface RecordQueueDeps {
  /** @returns how many it stored. */
  write(batch: readonly NewRecord[]): Promise<number>;
  seal: PromptSealer["seal"];
  onResult(result: RecordResult, records: number): void;
  onFailed(error: unknown): void;
  onWritten(): void;
}

const MAX_QUEUED = 5_000;
/** One account that sends much, with little in each request, does not keep the others from recording. */
const MAX_QUEUED_OF_ACCOUNT = 1_250;
const MAX_BATCH = 100;
/** Of texts, which encryption and Postgres have in memory several times. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const GATHER_MS = 100;
const MAX_ATTEMPTS = 4;
const RETRY = { firstMs: 200, maxMs: 2_000 };
/** Encrypted. Postgres has more important things to write. */
const MAX_BYTES_A_SECOND = 8 * 1024 * 1024;

export function createRecordQueue({ write, seal, onResult, onFailed, onWritten }: RecordQueueDeps): RecordQueue {
  const waiting: FinishedRecord[] = [];
  const waitingOf = new Map<string, number>();
  let running: Promise<void> | undefined;
  const stopping = new AbortController();

  function add(record: FinishedRecord): void {
    const own = waitingOf.get(record.accountId) ?? 0;
    if (waiting.length >= MAX_QUEUED || own >= MAX_QUEUED_OF_ACCOUNT) {
      record.room.release();
      return onResult("no_room", 1);
    }
    waiting.push(record);
    waitingOf.set(record.accountId, own + 1);
    running ??= run().finally(() => (running = undefined));
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      if (waiting.length < MAX_BATCH) await pause(GATHER_MS, stopping.signal);
      const batch = takeBatch();
      try {
        const bytes = await store(batch);
        await pause((bytes / MAX_BYTES_A_SECOND) * 1_000, stopping.signal);
      } catch (error) {
        onFailed(error);
        onResult("failed", batch.length);
      }
      for (const { room } of batch) room.release();
    }
  }

  function takeBatch(): FinishedRecord[] {
    let size = 0;
    const end = waiting.findIndex(({ content: { request, answer } }, index) => {
      size += request.text.length + (answer?.text.length ?? 0);
      return index === MAX_BATCH || (index > 0 && size > MAX_BATCH_BYTES);
    });
    const batch = waiting.splice(0, end < 0 ? waiting.length : end);
    for (const { accountId } of batch) {
      const left = (waitingOf.get(accountId) ?? 0) - 1;
      if (left > 0) waitingOf.set(accountId, left);
      else waitingOf.delete(accountId);
    }
    return batch;
  }

  /** @returns how many bytes it wrote. */
  async function store(batch: readonly FinishedRecord[]): Promise<number> {
    const sealed: NewRecord[] = [];
    for (const { content, room: _held, ...facts } of batch) {
      const { request, answer } = content;
      const sizes = { requestBytes: request.bytes, answerBytes: answer?.bytes ?? 0 };
      sealed.push({ ...facts, ...sizes, content: await seal(facts, content) });
    }
    await writeApart(sealed);
    return sealed.reduce((sum, { content }) => sum + content.length, 0);
  }

  /** Halves a batch that Postgres rejects until the one bad record is alone: the others may be of other accounts. */
  async function writeApart(batch: readonly NewRecord[]): Promise<void> {
    try {
      const stored = await writeWithRetries(batch);
      onWritten();
      if (stored > 0) onResult("stored", stored);
      if (stored < batch.length) onResult("unwanted", batch.length - stored);
    } catch (error) {
      if (isDataRefused(error) && batch.length > 1) {
        const middle = Math.ceil(batch.length / 2);
        await writeApart(batch.slice(0, middle));
        return writeApart(batch.slice(middle));
      }
      onFailed(error);
      onResult("failed", batch.length);
    }
  }

  async function writeWithRetries(batch: readonly NewRecord[]): Promise<number> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await write(batch);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || stopping.signal.aborted || isDataRefused(error)) throw error;
        onFailed(error);
        await pause(backOffMs(RETRY, attempt, Math.random()), stopping.signal);
      }
    }
  }

  return {
    add,
    async drain(withinMs) {
      stopping.abort();
      if (running !== undefined) await Promise.race([running, pause(withinMs, new AbortController().signal)]);
    },
  };
}
