import type { ExchangeContext } from "./context.ts";

/**
 * Runs work that continues after a wait. Envoy's messages are measured as they are handled (load/turns.ts); work after a wait for
 * the database or for credit would be charged to nobody, and an account whose requests all wait would never be noticed.
 */
export function charged<Result>({ load, deps: { clock } }: Pick<ExchangeContext, "load" | "deps">, work: () => Result): Result {
  const startedMs = clock.nowMs();
  try {
    return work();
  } finally {
    if (load !== null) load.share.workMs += Math.max(0, clock.nowMs() - startedMs);
  }
}
