import { isStatementTimeout } from "../postgres/postgres-error.ts";

/**
 * Collects the calls of one turn of the event loop, so that one statement serves all of them. An account whose row somebody holds
 * for long delays a batch once: then all of its calls run apart, and those of an account continue to do so until one succeeds.
 */
export interface Batches<Item, Result> {
  add(item: Item): Promise<Result>;
}

export interface BatchesOptions<Item, Result> {
  /** All or nothing. @returns a result for each item, in order. */
  run(items: readonly Item[]): Promise<readonly Result[]>;
}

const MAX_ITEMS = 200;
/** One batch may wait for the row of one account; the next ones do not wait with it. */
const MAX_RUNNING = 4;
/** Accounts whose calls run apart. Some may never be called again, so the one whose batch failed longest ago is forgotten. */
const MAX_SLOW = 1_000;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Lane<Item, Result> {
  add(waiting: Waiting<Item, Result>): void;
}

export function createBatches<Item extends { accountId: string }, Result>({
  run,
}: BatchesOptions<Item, Result>): Batches<Item, Result> {
  const slow = new Set<string>();
  const together = createLane(MAX_ITEMS);
  const apart = createLane(1);

  function createLane(maxItems: number): Lane<Item, Result> {
    let waiting: Waiting<Item, Result>[] = [];
    let running = 0;
    let isScheduled = false;

    function schedule(): void {
      if (isScheduled || waiting.length === 0 || running >= MAX_RUNNING) return;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        const batch = waiting.slice(0, maxItems);
        waiting = waiting.slice(maxItems);
        running++;
        void runOne(batch);
        schedule();
      });
    }

    async function runOne(batch: readonly Waiting<Item, Result>[]): Promise<void> {
      await finish(batch);
      running--;
      schedule();
    }

    return {
      add(one) {
        waiting.push(one);
        schedule();
      },
    };
  }

  /** The set is in the order of the last failures. */
  function addSlow(accountId: string): void {
    slow.delete(accountId);
    slow.add(accountId);
    const [oldest] = slow;
    if (slow.size > MAX_SLOW && oldest !== undefined) slow.delete(oldest);
  }

  /** Never rejects. */
  async function finish(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const { item } of batch) slow.delete(item.accountId);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index];
        if (result === undefined) reject(new Error("The batch has no result for this item."));
        else resolve(result);
      }
    } catch (error) {
      if (isTooSlow(error)) for (const { item } of batch) addSlow(item.accountId);
      // Nothing of it has happened, and most of its accounts may only have waited for one.
      const isOfOthers = new Set(batch.map(({ item }) => item.accountId)).size > 1;
      if (isTooSlow(error) && isOfOthers) for (const one of batch) apart.add(one);
      else for (const { reject } of batch) reject(error);
    }
  }

  return {
    async add(item) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      (slow.has(item.accountId) ? apart : together).add({ item, resolve, reject });
      return promise;
    },
  };
}

function isTooSlow(error: unknown): boolean {
  return isStatementTimeout(error) || (error instanceof Error && isStatementTimeout(error.cause));
}
