import { isLockTimeout, isStatementTimeout } from "../postgres/postgres-error.ts";
import { HELD, type Held } from "./held.ts";

/**
 * Collects the calls of one turn of the event loop, so that one statement serves all of them. It does not wait for accounts whose
 * balances others hold: their calls run again, each alone, and those of an account that was held for long after all others. An
 * account of which somebody holds another row delays a batch once: then all of its calls run alone, and those of an account
 * continue to do so until one succeeds.
 */
export interface Batches<Item, Result> {
  add(item: Item): Promise<Result>;
}

export interface BatchesOptions<Item, Result> {
  /** All or nothing, except for held accounts. @returns a result for each item, in order. */
  run(items: readonly Item[]): Promise<readonly (Result | Held)[]>;
  /** The same for one, whose account may be held: it waits, but not for long. */
  runAlone(item: Item): Promise<Result>;
  /** So many alone at once, of accounts that were not held for long before: each takes a connection while it waits. */
  maxAlone?: number;
}

const MAX_ITEMS = 200;
/** A batch may wait for another lock than that of a balance; the next ones do not wait with it. */
const MAX_RUNNING = 4;
/** Of each kind. Some may never be called again, so the one that was tried longest ago is forgotten. */
const MAX_ACCOUNTS = 1_000;

interface PendingCall<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Lane<Call> {
  add(call: Call): void;
}

export function createBatches<Item extends { accountId: string }, Result>({
  run,
  runAlone,
  maxAlone = 1,
}: BatchesOptions<Item, Result>): Batches<Item, Result> {
  type Call = PendingCall<Item, Result>;
  /** Accounts whose batch took too long. */
  const stalled = new Set<string>();
  /** Accounts whose last call took too long although it ran alone. */
  const late = new Set<string>();
  const together = createLane<Call>({ maxItems: MAX_ITEMS, maxRunning: MAX_RUNNING, finish });
  const apart = createLane<Call>({ maxItems: 1, maxRunning: maxAlone, finish: finishAlone });
  const last = createLane<Call>({ maxItems: 1, maxRunning: 1, finish: finishAlone });

  function runAgain(call: Call): void {
    (late.has(call.item.accountId) ? last : apart).add(call);
  }

  /** Never rejects. */
  async function finish(batch: readonly Call[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, call] of batch.entries()) {
        const result = results[index];
        if (result === undefined) call.reject(new Error("The batch has no result for this item."));
        else if (result === HELD) runAgain(call);
        else succeed(call, result);
      }
    } catch (error) {
      // Nothing of it has happened, and most of its accounts may only have waited for one.
      for (const call of batch) {
        if (!isTooSlow(error)) call.reject(error);
        else {
          remember(stalled, call.item.accountId);
          runAgain(call);
        }
      }
    }
  }

  /** Never rejects. */
  async function finishAlone(batch: readonly Call[]): Promise<void> {
    for (const call of batch)
      try {
        succeed(call, await runAlone(call.item));
      } catch (error) {
        if (isTooSlow(error)) remember(late, call.item.accountId);
        call.reject(error);
      }
  }

  function succeed({ item, resolve }: Call, result: Result): void {
    stalled.delete(item.accountId);
    late.delete(item.accountId);
    resolve(result);
  }

  return {
    async add(item) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const call = { item, resolve, reject };
      if (stalled.has(item.accountId)) runAgain(call);
      else together.add(call);
      return promise;
    },
  };
}

/** The set is in the order of the last calls. */
function remember(accounts: Set<string>, accountId: string): void {
  accounts.delete(accountId);
  accounts.add(accountId);
  const [oldest] = accounts;
  if (accounts.size > MAX_ACCOUNTS && oldest !== undefined) accounts.delete(oldest);
}

interface LaneOptions<Call> {
  maxItems: number;
  maxRunning: number;
  /** Never rejects. */
  finish(calls: readonly Call[]): Promise<void>;
}

function createLane<Call>({ maxItems, maxRunning, finish }: LaneOptions<Call>): Lane<Call> {
  let waiting: Call[] = [];
  let running = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || running >= maxRunning) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      const calls = waiting.slice(0, maxItems);
      waiting = waiting.slice(maxItems);
      running++;
      void runOne(calls);
      schedule();
    });
  }

  async function runOne(calls: readonly Call[]): Promise<void> {
    await finish(calls);
    running--;
    schedule();
  }

  return {
    add(call) {
      waiting.push(call);
      schedule();
    },
  };
}

function isTooSlow(error: unknown): boolean {
  return isTimeout(error) || (error instanceof Error && isTimeout(error.cause));
}

function isTimeout(error: unknown): boolean {
  return isStatementTimeout(error) || isLockTimeout(error);
}
