import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "./error-code.ts";

const POLL_MS = 50;
const ASK_WITHIN_MS = 2_000;
/**
 * How long Envoy must have been idle. An answer that began before the drain did not close its connection, so one more request
 * may follow on it; the answer to that request closes the connection.
 */
const QUIET_MS = 2_000;

export interface DrainTimes {
  /** How long new requests may still arrive from load balancers that have not noticed the drain. */
  minMs?: number;
  maxMs: number;
}

/**
 * Makes Envoy unready, so that it closes each connection after its answer, and waits until requests have stopped or the deadline
 * has passed. `resumeEnvoy` reverses this. Never throws: Envoy may be gone.
 * @param adminUrl Envoy's admin interface.
 * @returns how many requests were running when Envoy last answered; undefined if it is gone, or did not answer.
 */
export async function drainEnvoy(adminUrl: string, { minMs = 0, maxMs }: DrainTimes): Promise<number | undefined> {
  const startedAt = performance.now();
  const quietMs = Math.min(minMs, QUIET_MS);
  let isDraining = false;
  let active: number | undefined;
  let quietSince: number | undefined;
  for (;;) {
    const { text, isGone } = isDraining
      ? await ask(`${adminUrl}/stats?filter=^http\\.clients\\.downstream_rq_active$`, "GET")
      : await ask(`${adminUrl}/healthcheck/fail`, "POST");
    if (isGone) return undefined;
    const now = performance.now();
    if (text === undefined) {
      // An Envoy that is slow to answer, as on a busy node, or breaks off, may be serving requests.
      quietSince = undefined;
    } else if (isDraining) {
      active = Number(/downstream_rq_active: (\d+)/.exec(text)?.[1] ?? 0);
      quietSince = active === 0 ? (quietSince ?? now) : undefined;
    } else {
      isDraining = true;
      continue;
    }
    const isQuiet = quietSince !== undefined && now - quietSince >= quietMs;
    const waitedMs = now - startedAt;
    if (waitedMs >= maxMs || (isQuiet && waitedMs >= minMs)) return active;
    await sleep(POLL_MS);
  }
}

/**
 * Reverses a drain: an Envoy that stayed drained would never be ready again. Never throws: one that is not running yet was not
 * drained.
 * @param options.maxMs how long an Envoy that is slow to answer is asked again.
 * @returns whether Envoy accepts requests again, or is not running.
 */
export async function resumeEnvoy(adminUrl: string, { maxMs }: { maxMs: number }): Promise<boolean> {
  const startedAt = performance.now();
  for (;;) {
    const { text, isGone } = await ask(`${adminUrl}/healthcheck/ok`, "POST");
    if (isGone || text !== undefined) return true;
    if (performance.now() - startedAt >= maxMs) return false;
    await sleep(POLL_MS);
  }
}

interface Answer {
  /** Undefined: none in time. */
  text?: string;
  /** Nobody listens there. */
  isGone: boolean;
}

async function ask(url: string, method: string): Promise<Answer> {
  try {
    const response = await fetch(url, { method, signal: AbortSignal.timeout(ASK_WITHIN_MS) });
    return { text: await response.text(), isGone: false };
  } catch (error) {
    // Fetch tells why in the cause. Whatever else happened to the connection, Envoy may still be serving requests.
    return { isGone: error instanceof Error && errorCode(error.cause) === "ECONNREFUSED" };
  }
}
