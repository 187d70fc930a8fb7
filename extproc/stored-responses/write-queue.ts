import type { NewResponse } from "../../ledger/responses/write-responses.ts";
import { backOffMs, createWakeUp, pause } from "../../runtime/wait.ts";
import { outputOf, textMember } from "./input.ts";
import { isStorableId } from "./names.ts";

/** A response that its client has received, with the data needed to continue it. */
export interface FinishedResponse {
  accountId: string;
  storeHours: number;
  previousResponseId: string | null;
  usedResponseIds: readonly string[];
  /** The request's own input, a list of items. */
  input: Buffer;
  /** As the client received it. */
  response: Buffer;
}

/** The outcomes for responses queued to be stored. */
export type StoreResult =
  | "stored"
  /** Too large, or without ids. */
  | "unfit"
  /** Too much is queued for the database already, or for the account. */
  | "queue_full"
  /** The account has reached its hourly storage limit. */
  | "over_limit"
  /** The database rejected it in each of several attempts. */
  | "failed";

/** Writes finished responses to the database after they are answered. Responses that it cannot take are lost, and counted. */
export interface WriteQueue {
  /** Never waits, never throws. */
  add(response: FinishedResponse): void;
  /** Resolves when everything that an account has queued so far is written or lost, or after a timeout. */
  written(accountId: string): Promise<void>;
  drain(withinMs: number): Promise<void>;
}

export interface WriteQueueDeps {
  /** @returns accounts that would exceed their limits. */
  write(batch: readonly NewResponse[]): Promise<ReadonlySet<string>>;
  seal(plain: Buffer, about: SealedPart): Buffer;
  onResult(result: StoreResult, responses: number): void;
  onFailed(error: unknown): void;
  onWritten(): void;
}

export interface SealedPart {
  accountId: string;
  responseId: string;
  part: "input" | "response";
}

export const MAX_STORED_BYTES = 8 * 1024 * 1024;
const MAX_QUEUED_BYTES = 32 * 1024 * 1024;
const MAX_ACCOUNT_BYTES = 16 * 1024 * 1024;
const MAX_QUEUED = 2_000;
const MAX_BATCH = 100;
const MAX_BATCH_BYTES = 8 * 1024 * 1024;
const GATHER_MS = 50;
const MAX_ATTEMPTS = 5;
const RETRY = { firstMs: 200, maxMs: 2_000 };
const WAIT_FOR_WRITING_MS = 2_000;

interface Waiting {
  response: FinishedResponse;
  bytes: number;
  over: PromiseWithResolvers<void>;
}

export function createWriteQueue({ write, seal, onResult, onFailed, onWritten }: WriteQueueDeps): WriteQueue {
  const waiting = new Set<Waiting>();
  const bytesOf = new Map<string, number>();
  let bytes = 0;
  let running: Promise<void> | undefined;
  const wakeUp = createWakeUp();
  const stopping = new AbortController();

  function add(response: FinishedResponse): void {
    const size = response.input.length + response.response.length;
    const { accountId } = response;
    const own = bytesOf.get(accountId) ?? 0;
    if (size > MAX_STORED_BYTES) return onResult("unfit", 1);
    if (waiting.size >= MAX_QUEUED || bytes + size > MAX_QUEUED_BYTES || own + size > MAX_ACCOUNT_BYTES)
      return onResult("queue_full", 1);
    waiting.add({ response, bytes: size, over: Promise.withResolvers() });
    bytesOf.set(accountId, own + size);
    bytes += size;
    running ??= run().finally(() => (running = undefined));
  }

  function end(entries: readonly Waiting[]): void {
    for (const entry of entries) {
      const { accountId } = entry.response;
      waiting.delete(entry);
      bytes -= entry.bytes;
      const left = (bytesOf.get(accountId) ?? 0) - entry.bytes;
      if (left === 0) bytesOf.delete(accountId);
      else bytesOf.set(accountId, left);
      entry.over.resolve();
    }
  }

  async function run(): Promise<void> {
    while (waiting.size > 0) {
      await wakeUp.wait(GATHER_MS, stopping.signal);
      const batch = takeBatch();
      try {
        await store(batch);
      } catch (error) {
        onFailed(error);
        onResult("failed", batch.length);
      }
      end(batch);
    }
  }

  function takeBatch(): Waiting[] {
    const batch: Waiting[] = [];
    let size = 0;
    for (const entry of waiting) {
      size += entry.bytes;
      if (batch.length === MAX_BATCH || (batch.length > 0 && size > MAX_BATCH_BYTES)) break;
      batch.push(entry);
    }
    return batch;
  }

  async function store(batch: readonly Waiting[]): Promise<void> {
    const sealed = batch.flatMap(({ response }) => sealResponse(response) ?? []);
    if (sealed.length < batch.length) onResult("unfit", batch.length - sealed.length);
    if (sealed.length === 0) return;
    const refused = await writeWithRetries(sealed);
    onWritten();
    const over = sealed.filter(({ accountId }) => refused.has(accountId)).length;
    if (over > 0) onResult("over_limit", over);
    if (sealed.length > over) onResult("stored", sealed.length - over);
  }

  async function writeWithRetries(batch: readonly NewResponse[]): Promise<ReadonlySet<string>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await write(batch);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || stopping.signal.aborted) throw error;
        onFailed(error);
        await pause(backOffMs(RETRY, attempt, Math.random()), stopping.signal);
      }
    }
  }

  /** Undefined for a response that nobody could name. */
  function sealResponse({ input, response, ...facts }: FinishedResponse): NewResponse | undefined {
    const responseId = textMember(response, "id");
    if (!isStorableId(responseId)) return undefined;
    const about = { accountId: facts.accountId, responseId };
    return {
      ...facts,
      responseId,
      itemIds: outputOf(response)
        .map((item) => textMember(item, "id"))
        .filter(isStorableId),
      input: seal(input, { ...about, part: "input" }),
      response: seal(response, { ...about, part: "response" }),
    };
  }

  return {
    add,
    async written(accountId) {
      const own = [...waiting].filter(({ response }) => response.accountId === accountId);
      if (own.length === 0) return;
      wakeUp.wake();
      const tooLong = new AbortController();
      await Promise.race([Promise.all(own.map(({ over }) => over.promise)), pause(WAIT_FOR_WRITING_MS, tooLong.signal)]);
      tooLong.abort();
    },
    async drain(withinMs) {
      stopping.abort();
      if (running !== undefined) await Promise.race([running, pause(withinMs, new AbortController().signal)]);
    },
  };
}
