import { backOffMs } from "../../runtime/wait.ts";

/** Requests of batches that were refused for now: by a limit, or by a model server that is busy or down. */
export interface Refusals {
  /** By batch, the number of the request that was refused last. */
  readonly last: ReadonlyMap<string, number>;
  /**
   * A request was refused.
   * @param minMs how long to wait, according to the answer.
   * @returns how long its batch is to wait, in ms: a model may be down for hours, so that it waits longer from one refusal to the next
   * while it gets no answers.
   */
  add(refused: { batchId: string; number: number }, minMs: number): number;
  /** Of a request of this batch. */
  answered(batchId: string): void;
}

export interface RefusalsDeps {
  /** Monotonic. */
  nowMs(): number;
  /** In [0, 1). */
  random(): number;
}

const SENDS_AGAIN = { firstMs: 2_000, maxMs: 60_000 } as const;
/** Batches whose refusals are counted: of one that ends otherwise, nobody says so. */
const MAX_BATCHES = 1_000;

export function createRefusals({ nowMs, random }: RefusalsDeps): Refusals {
  const last = new Map<string, number>();
  const waits = new Map<string, { count: number; untilMs: number }>();

  return {
    last,
    add({ batchId, number }, minMs) {
      const known = waits.get(batchId) ?? { count: 0, untilMs: -Infinity };
      // Requests that were sent together, and are refused together, are refused once.
      const count = nowMs() < known.untilMs ? known.count : known.count + 1;
      const delayMs = Math.max(minMs, backOffMs(SENDS_AGAIN, count, random()));
      setNewest(last, batchId, number);
      setNewest(waits, batchId, { count, untilMs: Math.max(known.untilMs, nowMs() + delayMs) });
      return delayMs;
    },
    answered(batchId) {
      waits.delete(batchId);
    },
  };
}

/** Forgets the batch that was set first, if there are too many. */
export function setNewest<Value>(byBatch: Map<string, Value>, batchId: string, value: Value): void {
  byBatch.delete(batchId);
  byBatch.set(batchId, value);
  if (byBatch.size <= MAX_BATCHES) return;
  const [oldest] = byBatch.keys();
  if (oldest !== undefined) byBatch.delete(oldest);
}
