import { MONOTONIC } from "./clock.ts";
import type { Logger } from "./log.ts";

/** A failure that persists for a while, such as an unreachable database. */
export interface Outage {
  failed(error: unknown, details?: Readonly<Record<string, unknown>>): void;
  /** The same work succeeded. */
  over(): void;
}

export interface OutageOptions {
  log: Logger;
  failing: string;
  over: string;
  clock?: { nowMs(): number };
}

const REMIND_EVERY_MS = 60_000;

/** Logs an outage when it begins, once a minute while it lasts, and when it ends, with the number of failures so far. */
export function createOutage({ log, failing, over, clock = MONOTONIC }: OutageOptions): Outage {
  let failures = 0;
  let loggedMs = 0;
  return {
    failed(error, details = {}) {
      failures += 1;
      if (failures > 1 && clock.nowMs() - loggedMs < REMIND_EVERY_MS) return;
      loggedMs = clock.nowMs();
      log.warn({ err: error, failures, ...details }, failing);
    },
    over() {
      // Local mode shows lines with this mark as it shows warnings.
      if (failures > 0) log.info({ failures, isRecovery: true }, over);
      failures = 0;
    },
  };
}
