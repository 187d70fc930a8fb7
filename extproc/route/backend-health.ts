/**
 * The memory of backends that fail: one that does rests, then a single request is let through, and what becomes
 * of it decides for the others. Only Models with several backends ask; the last backend of a Model is never kept back.
 */
export interface BackendHealth {
  /** Null where requests may be sent. */
  restOf(cluster: string): Rest | null;
  /** A request is sent; after a rest, it is the probe. */
  began(cluster: string): void;
  succeeded(cluster: string): void;
  /** @param retryAfterMs what the server asked for, null where it said nothing. */
  failed(cluster: string, failure: NonNullable<HealthNews["failure"]>): void;
  /** The client left before an answer: nothing was learnt. */
  abandoned(cluster: string): void;
  /** Another worker beside the same Envoy has learnt something. */
  hear(news: HealthNews): void;
}

/** What one worker tells the others: a server that asked for time is not asked by each of them. */
export interface HealthNews {
  cluster: string;
  /** Null: it answers again. */
  failure: { isRateLimit: boolean; retryAfterMs: number | null } | null;
}

export interface Rest {
  untilMs: number;
  /** The server itself named the time. */
  isAsked: boolean;
}

interface Trouble extends Rest {
  /** In a row. */
  failures: number;
  /** Until then the probe is waited for; 0 where none runs. */
  probeUntilMs: number;
}

/** A single failure may be about the request. */
const FAILURES_BEFORE_REST = 3;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** A server may ask for an hour where a minute's limit is meant. */
const LONGEST_ASKED_MS = 600_000;
/** The end of a probe that nobody hears of. */
const PROBE_MS = 60_000;
/** Clusters come and go with their Models; those that never answered again are forgotten, oldest first. */
const MAX_REMEMBERED = 1_000;

export interface BackendHealthDeps {
  /** Monotonic or wall. */
  clock: { nowMs(): number };
  /** Is called for each failure, and where a failing backend answers again. */
  notify?: (news: HealthNews) => void;
}

export function createBackendHealth({ clock, notify = () => {} }: BackendHealthDeps): BackendHealth {
  const troubles = new Map<string, Trouble>();

  /** @returns whether there was trouble that is over now. */
  function recover(cluster: string): boolean {
    const trouble = troubles.get(cluster);
    // It was sent before the server asked for time.
    if (trouble?.isAsked === true && clock.nowMs() < trouble.untilMs) return false;
    return troubles.delete(cluster);
  }

  function fail(cluster: string, { isRateLimit, retryAfterMs }: NonNullable<HealthNews["failure"]>): void {
    const trouble = troubles.get(cluster);
    const isAsked = retryAfterMs !== null;
    // Of many that were under way together, all fail: that is one failure, and the rest has begun.
    if (!isAsked && trouble !== undefined && clock.nowMs() < trouble.untilMs) return;
    const failures = (trouble?.failures ?? 0) + 1;
    const restMs = isAsked ? Math.min(retryAfterMs, LONGEST_ASKED_MS) : restAfter(isRateLimit ? failures + 2 : failures);
    const untilMs = restMs === 0 ? 0 : clock.nowMs() + restMs;
    troubles.delete(cluster);
    troubles.set(cluster, { failures, untilMs, isAsked, probeUntilMs: 0 });
    const [oldest] = troubles.keys();
    if (troubles.size > MAX_REMEMBERED && oldest !== undefined) troubles.delete(oldest);
  }

  return {
    restOf(cluster) {
      const trouble = troubles.get(cluster);
      if (trouble === undefined || trouble.untilMs === 0) return null;
      const nowMs = clock.nowMs();
      if (nowMs < trouble.untilMs) return trouble;
      return nowMs < trouble.probeUntilMs ? { untilMs: trouble.probeUntilMs, isAsked: false } : null;
    },
    began(cluster) {
      const trouble = troubles.get(cluster);
      if (trouble !== undefined && trouble.untilMs > 0) trouble.probeUntilMs = clock.nowMs() + PROBE_MS;
    },
    succeeded(cluster) {
      if (recover(cluster)) notify({ cluster, failure: null });
    },
    failed(cluster, failure) {
      fail(cluster, failure);
      notify({ cluster, failure });
    },
    hear({ cluster, failure }) {
      if (failure === null) recover(cluster);
      else fail(cluster, failure);
    },
    abandoned(cluster) {
      const trouble = troubles.get(cluster);
      if (trouble !== undefined) trouble.probeUntilMs = 0;
    },
  };
}

function restAfter(failures: number): number {
  return failures < FAILURES_BEFORE_REST ? 0 : Math.min(FIRST_REST_MS * 2 ** (failures - FAILURES_BEFORE_REST), LONGEST_REST_MS);
}
