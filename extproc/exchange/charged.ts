import { performance } from "node:perf_hooks";
import { noteWork } from "../load/turns.ts";
import type { ExchangeContext } from "./context.ts";

/**
 * Runs work that continues after a wait. Envoy's messages are measured as they are handled (load/turns.ts); work after a wait for
 * the database or for credit would be charged to nobody, and an account whose requests all wait would never be noticed.
 */
export function charged<Result>({ load }: Pick<ExchangeContext, "load">, work: () => Result): Result {
  const startedMs = performance.now();
  try {
    return work();
  } finally {
    const nowMs = performance.now();
    if (load !== null) noteWork(load.share, nowMs - startedMs, nowMs);
  }
}
