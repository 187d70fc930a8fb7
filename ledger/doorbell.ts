/** Wakes one waiting loop. A ring while nobody waits is not lost: the next wait ends at once. */
export interface Doorbell {
  ring(): void;
  /** Resolves at the next ring, after `mostMs`, or when the signal aborts, whichever is first. */
  wait(mostMs: number, signal: AbortSignal): Promise<void>;
}

export function createDoorbell(): Doorbell {
  let hasRung = false;
  let wake = () => {};

  return {
    ring() {
      hasRung = true;
      wake();
    },
    async wait(mostMs, signal) {
      if (!hasRung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer = setTimeout(resolve, mostMs);
        const onAbort = () => resolve();
        signal.addEventListener("abort", onAbort, { once: true });
        await promise;
        signal.removeEventListener("abort", onAbort);
        clearTimeout(timer);
      }
      hasRung = false;
    },
  };
}
