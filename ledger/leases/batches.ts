/** Collects the calls of one turn of the event loop, so that one statement serves all of them. */
export interface Batches<Item, Result> {
  add(item: Item): Promise<Result>;
}

export interface BatchesOptions<Item, Result> {
  /** @returns a result for each item, in order. */
  run(items: readonly Item[]): Promise<readonly Result[]>;
}

const MAX_ITEMS = 200;
/** One batch may wait for the row of one account; the next ones do not wait with it. */
const MAX_RUNNING = 4;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export function createBatches<Item, Result>({ run }: BatchesOptions<Item, Result>): Batches<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || waiting.length === 0 || running >= MAX_RUNNING) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      const batch = waiting.slice(0, MAX_ITEMS);
      waiting = waiting.slice(MAX_ITEMS);
      running++;
      void finish(batch);
      schedule();
    });
  }

  async function finish(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index];
        if (result === undefined) reject(new Error("The batch has no result for this item."));
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      running--;
      schedule();
    }
  }

  return {
    async add(item) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      waiting.push({ item, resolve, reject });
      schedule();
      return promise;
    },
  };
}
