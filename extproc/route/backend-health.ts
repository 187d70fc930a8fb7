/**
 * Tracks backends that fail: a failing one rests, then a single request is let through, and its outcome decides for the others.
 * Only Models with several backends use it; the last backend of a Model is never held back.
 */
export interface BackendHealth {
  /** Null if requests may be sent. */
  restOf(cluster: string): Rest | null;
  /** A request is sent; after a rest, it is the probe. */
  began(cluster: string): void;
  succeeded(cluster: string): void;
  /** @param retryAfterMs requested by the server (protocol/retry-after.ts), null if it requested none. */
  failed(cluster: string, failure: NonNullable<HealthNews["failure"]>): void;
  /** The client left before an answer: no conclusion is possible. */
  abandoned(cluster: string): void;
  /** Another worker of the same Envoy has observed a change. */
  hear(news: HealthNews): void;
}

/** What one worker shares with the others, so that a server that requested a pause is not tried by each of them. */
export interface HealthNews {
  cluster: string;
  /** Null: it answers again. */
  failure: { isRateLimit: boolean; retryAfterMs: number | null } | null;
}

export interface Rest {
  leftMs: number;
  /** The server itself named the time. */
  isAsked: boolean;
}

interface Trouble extends Omit<Rest, "leftMs"> {
  untilMs: number;
  /** In a row. */
  failures: number;
  /** Deadline of the running probe; 0 if none runs. */
  probeUntilMs: number;
}

/** A single failure may be caused by the request. */
const FAILURES_BEFORE_REST = 3;
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;
/** The end of a probe that never reports. */
const PROBE_MS = 60_000;
/** Clusters appear and disappear with their Models; those that never answered again are forgotten, oldest first. */
const MAX_REMEMBERED = 1_000;

export interface BackendHealthDeps {
  /** Monotonic: if it were set back, backends would rest until it had caught up. */
  clock: { nowMs(): number };
  /** Called for each failure, and when a failing backend answers again. */
  notify?: (news: HealthNews) => void;
}

export function createBackendHealth({ clock, notify = () => {} }: BackendHealthDeps): BackendHealth {
  const troubles = new Map<string, Trouble>();

  /** @returns whether a failure period has ended. */
  function recover(cluster: string): boolean {
    const trouble = troubles.get(cluster);
    // It was sent before the server requested a pause.
    if (trouble?.isAsked === true && clock.nowMs() < trouble.untilMs) return false;
    return troubles.delete(cluster);
  }

  function fail(cluster: string, { isRateLimit, retryAfterMs }: NonNullable<HealthNews["failure"]>): void {
    const trouble = troubles.get(cluster);
    const isAsked = retryAfterMs !== null;
    // Many concurrent requests fail together: that is one failure, and the rest period has begun.
    if (!isAsked && trouble !== undefined && clock.nowMs() < trouble.untilMs) return;
    const failures = (trouble?.failures ?? 0) + 1;
    const restMs = isAsked ? retryAfterMs : restAfter(isRateLimit ? failures + 2 : failures);
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
      if (nowMs < trouble.untilMs) return { leftMs: trouble.untilMs - nowMs, isAsked: trouble.isAsked };
      return nowMs < trouble.probeUntilMs ? { leftMs: trouble.probeUntilMs - nowMs, isAsked: false } : null;
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
