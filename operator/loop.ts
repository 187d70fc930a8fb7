export interface LoopDeps {
  /** One round. @returns the time in Unix milliseconds of the next one that is due anyway; null for none. */
  work(): Promise<number | null>;
  clock: { nowMs(): number };
  onFailure(failure: { error: unknown; retryMs: number }): void;
}

export interface Loop {
  /** Asks for a round; many calls during one make one more. */
  wake(): void;
  readonly hasSucceeded: boolean;
  /** Resolves when the running round has ended. */
  stop(): Promise<void>;
}

/** A round at least this often: time alone can change what is right (a sunset). */
const INTERVAL_MS = 60_000;
const FIRST_RETRY_MS = 500;
const MOST_RETRY_MS = 15_000;

/** Runs one round of work at a time, when woken and when due, and again after a failure. */
export function startLoop({ work, clock, onFailure }: LoopDeps): Loop {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | null = null;
  let isWoken = false;
  let isStopped = false;
  let hasSucceeded = false;
  let failures = 0;

  async function rounds(): Promise<void> {
    while (isWoken) {
      isWoken = false;
      clearTimeout(timer);
      schedule(await round());
    }
    running = null;
  }

  /** @returns milliseconds until the next round. */
  async function round(): Promise<number> {
    try {
      const dueMs = await work();
      hasSucceeded = true;
      failures = 0;
      return Math.min(INTERVAL_MS, dueMs === null ? INTERVAL_MS : Math.max(0, dueMs - clock.nowMs()));
    } catch (error) {
      const retryMs = Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
      failures += 1;
      onFailure({ error, retryMs });
      return retryMs;
    }
  }

  function schedule(delayMs: number): void {
    if (!isStopped) timer = setTimeout(wake, delayMs);
  }

  function wake(): void {
    if (isStopped) return;
    isWoken = true;
    running ??= rounds();
  }

  return {
    wake,
    get hasSucceeded() {
      return hasSucceeded;
    },
    async stop() {
      isStopped = true;
      isWoken = false;
      clearTimeout(timer);
      await running;
    },
  };
}
