import { createFleetingMap } from "../../runtime/fleeting-map.ts";
import type { Logger } from "../../runtime/log.ts";

/** Ends runs that have long been inactive: only a bug leaves one behind, and it would hold credit forever. */
export interface RunWatch {
  begin(run: WatchedRun): WatchedLife;
  /** Ends those that are silent now. @returns how many. */
  sweep(): number;
  stop(): void;
}

interface WatchedRun {
  requestId: string;
  /** Settles recorded usage, and frees the hold. */
  abandon(): void;
}

interface WatchedLife {
  /** @returns the time, by the monotonic clock. */
  noteAlive(): number;
  /** The run has ended. */
  over(): void;
}

export interface RunWatchDeps {
  /** Monotonic, ms: setting a clock must not end runs. */
  clock: { nowMs(): number };
  log: Logger;
}

/**
 * Envoy ends a request that is silent for five minutes (operator/bootstrap/listeners/clients.ts). A complete answer is not seen
 * here before its last byte, and some model servers send blanks for many minutes to keep it open.
 */
const SILENT_MS = 3_600_000;
const SWEEP_EVERY_MS = 60_000;

export function startRunWatch({ clock, log }: RunWatchDeps): RunWatch {
  const watched = createFleetingMap<number, { number: number; run: WatchedRun; aliveAtMs: number }>();
  let begun = 0;

  function sweep(): number {
    const silentSinceMs = clock.nowMs() - SILENT_MS;
    const silent = [...watched.values()].filter(({ aliveAtMs }) => aliveAtMs <= silentSinceMs);
    for (const { number, run } of silent) {
      watched.delete(number);
      log.error({ requestId: run.requestId, silentMs: SILENT_MS }, "giving up on a stalled request");
      try {
        run.abandon();
      } catch (error) {
        // The others must not wait for it; it is not retried, because a hold ends once.
        log.error({ err: error, requestId: run.requestId }, "failed to give up on a stalled request");
      }
    }
    return silent.length;
  }

  const timer = setInterval(sweep, SWEEP_EVERY_MS).unref();
  return {
    begin(run) {
      const number = ++begun;
      const entry = { number, run, aliveAtMs: clock.nowMs() };
      watched.set(number, entry);
      return {
        noteAlive: () => (entry.aliveAtMs = clock.nowMs()),
        over: () => watched.delete(number),
      };
    },
    sweep,
    stop: () => clearInterval(timer),
  };
}
