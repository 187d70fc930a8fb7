export interface BackOff {
  firstMs: number;
  maxMs: number;
}

/**
 * The delay before attempt `attempt` + 1, in ms: doubled each time, capped, and randomized over the upper half, so that processes
 * that failed together do not retry together.
 * @param attempt failed attempts so far, from 1.
 * @param random in [0, 1).
 */
export function backOffMs({ firstMs, maxMs }: BackOff, attempt: number, random: number): number {
  const capMs = Math.min(maxMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(capMs * (0.5 + random / 2));
}

/** Wakes a waiting loop. A wake-up without a waiter is not lost: the next wait ends at once. */
export interface WakeUp {
  wake(): void;
  /** Resolves at the next wake-up, after `maxMs`, or when the signal aborts, whichever is first. */
  wait(maxMs: number, signal: AbortSignal): Promise<void>;
}

export function createWakeUp(): WakeUp {
  let isWoken = false;
  let resume = () => {};

  return {
    wake() {
      isWoken = true;
      resume();
    },
    async wait(maxMs, signal) {
      if (!isWoken && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        resume = resolve;
        const timer = setTimeout(resolve, maxMs);
        const onAbort = () => resolve();
        signal.addEventListener("abort", onAbort, { once: true });
        await promise;
        signal.removeEventListener("abort", onAbort);
        clearTimeout(timer);
      }
      isWoken = false;
    },
  };
}

/** Resolves after the time, or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return createWakeUp().wait(ms, signal);
}

/** The outcome of `work`; a rejection with `late()` if there is none within `ms`. The work itself goes on. */
export async function inTime<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Work that is repeated at fixed intervals. */
export interface Rounds {
  /** Resolves when the running round has ended. */
  stop(): Promise<void>;
}

interface RoundsOptions {
  everyMs: number;
  /** Called after a failed round; the next round runs as usual. */
  onFailure: (error: unknown) => void;
  /** Waits between rounds, at most `everyMs`. */
  rest?: WakeUp["wait"];
}

export function startRounds(round: () => Promise<void>, { everyMs, onFailure, rest = pause }: RoundsOptions): Rounds {
  const stopping = new AbortController();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await round().catch(onFailure);
      await rest(everyMs, stopping.signal);
    }
  }
  const ended = run();
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
