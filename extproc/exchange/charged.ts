import type { ExchangeContext } from "./context.ts";

/**
 * Does work that goes on after a wait. Messages of Envoy are measured as they are handled (load/turns.ts); what follows a wait
 * for the database or for credit would be nobody's, and an account whose requests all wait would never be found out.
 */
export function charged<Result>({ load, deps: { clock } }: Pick<ExchangeContext, "load" | "deps">, work: () => Result): Result {
  const startedMs = clock.nowMs();
  try {
    return work();
  } finally {
    if (load !== null) load.share.workMs += Math.max(0, clock.nowMs() - startedMs);
  }
}
