import type { KubeEvents } from "./events.ts";
import { KubeError } from "./kube-error.ts";
import { backOffMs, type BackOff } from "../../runtime/wait.ts";

/** In how many ms to process the key again anyway; null for never. */
export type Again =
  | number
  | null
  /** What it worked from was outdated, and the watch reports the current state: if it does not, again after growing delays. */
  | "outdated";

export interface WorkQueueDeps {
  /** Label of its metrics. */
  name: string;
  /** Processes one key, never twice at a time. */
  work(key: string): Promise<Again>;
  workers: number;
  events: Pick<KubeEvents, "reconciled" | "queueLength">;
  /** Called after each failure with the number of consecutive ones. Must not throw. */
  onFailure?(failure: { key: string; error: unknown; failures: number }): void;
  random?: () => number;
  backOff?: (error: unknown) => BackOff;
}

/** Keys that need processing. One key waits once, however often it is added; a failed one is retried with growing delays. */
export interface WorkQueue {
  add(key: string): void;
  /** Starts nothing new; resolves when running work has ended. */
  stop(): Promise<void>;
}

/** Postgres or the API server does not answer: work resumes soon after it is back, however long it was unavailable. */
const OUTAGE = { firstMs: 200, maxMs: 15_000 } as const;
/** The API server rejects the request: nothing changes until an administrator acts. */
const REFUSAL = { firstMs: 200, maxMs: 60_000 } as const;
/** A watch reports what another one wrote within this; one that is late or broken must not cost two requests a second for each. */
const OUTDATED = { firstMs: 500, maxMs: 30_000 } as const;
/** 4xx answers that are temporary: time-out, conflict, too many requests. */
const PASSING = [408, 409, 429];

export function startWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const { name, work, workers, events, onFailure, random = Math.random, backOff = chooseBackOff } = deps;
  const waiting = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const timers = new Map<string, NodeJS.Timeout>();
  const failures = new Map<string, number>();
  const outdated = new Map<string, number>();
  let isStopped = false;

  function add(key: string): void {
    if (isStopped) return;
    clearTimeout(timers.get(key));
    timers.delete(key);
    waiting.add(key);
    fill();
  }

  function addAfter(key: string, delayMs: number): void {
    if (isStopped || waiting.has(key)) return;
    timers.set(
      key,
      setTimeout(() => add(key), delayMs),
    );
  }

  function fill(): void {
    for (const key of waiting) {
      if (isStopped || running.size >= workers) break;
      // It runs again when this run has ended, because the change may have come too late for it.
      if (running.has(key)) continue;
      waiting.delete(key);
      running.set(key, run(key));
    }
    events.queueLength({ name, length: waiting.size });
  }

  async function run(key: string): Promise<void> {
    const startedAt = performance.now();
    const seconds = () => (performance.now() - startedAt) / 1000;
    try {
      const againMs = delayOf(key, await work(key));
      failures.delete(key);
      events.reconciled({ name, key, result: againMs === null ? "success" : "requeue_after", seconds: seconds() });
      if (againMs !== null) addAfter(key, againMs);
    } catch (error) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const retryMs = backOffMs(backOff(error), count, random());
      events.reconciled({ name, key, result: "error", seconds: seconds(), failure: { error, retryMs } });
      onFailure?.({ key, error, failures: count });
      addAfter(key, retryMs);
    } finally {
      running.delete(key);
      fill();
    }
  }

  function delayOf(key: string, again: Again): number | null {
    if (again !== "outdated") {
      outdated.delete(key);
      return again;
    }
    const count = (outdated.get(key) ?? 0) + 1;
    outdated.set(key, count);
    return backOffMs(OUTDATED, count, random());
  }

  return {
    add,
    async stop() {
      isStopped = true;
      waiting.clear();
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(running.values());
    },
  };
}

function chooseBackOff(error: unknown): BackOff {
  const isRefusal = error instanceof KubeError && error.code >= 400 && error.code < 500 && !PASSING.includes(error.code);
  return isRefusal ? REFUSAL : OUTAGE;
}
