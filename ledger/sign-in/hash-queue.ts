import { availableParallelism } from "node:os";
import PQueue from "p-queue";
import { GatewayError } from "../../contract/errors.ts";

/** "check" verifies a password at sign-in; "make" hashes a new one. */
export type HashWork = "check" | "make";

/** One core stays free for the pages; each hash takes 46 MiB and a core for about a tenth of a second. */
const CONCURRENCY = Math.max(1, availableParallelism() - 1);
const PRIORITY: Record<HashWork, number> = { check: 1, make: 0 };
/** Maximum waiting hashes: a flood of sign-ups leaves room for people who sign in. */
const MAX_WAITING: Record<HashWork, number> = { check: 32, make: 16 };
const RETRY_AFTER_SECONDS = 5;

/** Password hashes, a bounded number at a time: beyond the limit, callers are rejected rather than kept waiting. */
export function createHashQueue(concurrency = CONCURRENCY): <T>(work: HashWork, hash: () => Promise<T>) => Promise<T> {
  const queue = new PQueue({ concurrency });
  return async (work, hash) => {
    if (queue.size >= MAX_WAITING[work]) throw busy();
    return queue.add(hash, { priority: PRIORITY[work] });
  };
}

function busy(): GatewayError {
  return new GatewayError("overloaded", "Too many people are signing in right now. Try again in a few seconds.", {
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}
