import { backOffMs, createWakeUp } from "../runtime/wait.ts";

export interface LoopDeps {
  /** One round. @returns the time in Unix milliseconds of the next one that is due anyway; null for none. */
  work(): Promise<number | null>;
  clock: { nowMs(): number };
  onFailure(failure: { error: unknown; retryMs: number }): void;
}

export interface Loop {
  /** Requests a round; many calls during one cause one more. */
  wake(): void;
  readonly hasSucceeded: boolean;
  /** Resolves when the running round has ended. */
  stop(): Promise<void>;
}

/** A round at least this often: time alone can change the result (a sunset). */
const INTERVAL_MS = 60_000;
const RETRY = { firstMs: 500, maxMs: 15_000 } as const;
/** Only one process retries here, so its delays are not spread. */
const UNSPREAD = 1;

/** Runs one round of work at a time, when woken and when due, and again after a failure. The first wake-up starts it. */
export function startLoop({ work, clock, onFailure }: LoopDeps): Loop {
  const stopping = new AbortController();
  const wakeUp = createWakeUp();
  let running: Promise<void> | null = null;
  let hasSucceeded = false;
  let failures = 0;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) await wakeUp.wait(await round(), stopping.signal);
  }

  /** @returns milliseconds until the next round. */
  async function round(): Promise<number> {
    try {
      const dueMs = await work();
      hasSucceeded = true;
      failures = 0;
      return Math.min(INTERVAL_MS, dueMs === null ? INTERVAL_MS : Math.max(0, dueMs - clock.nowMs()));
    } catch (error) {
      failures += 1;
      const retryMs = backOffMs(RETRY, failures, UNSPREAD);
      onFailure({ error, retryMs });
      return retryMs;
    }
  }

  return {
    wake() {
      if (stopping.signal.aborted) return;
      if (running === null) running = run();
      else wakeUp.wake();
    },
    get hasSucceeded() {
      return hasSucceeded;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
