/** How fast one account's requests start (starts.ts). */
export interface StartPace {
  /** When the next start is due. */
  dueMs: number;
  /** Mean work of one of its requests, ms. */
  costMs: number;
  /** Starts since the cost was last corrected. */
  count: number;
  /** The first is next. */
  readonly waiting: WaitingStart[];
  /** Begun requests whose body has not come yet, the oldest first. */
  readonly entering: Set<Entering>;
}

/** A request between its headers and its body. */
export interface Entering {
  readonly sinceMs: number;
}

interface WaitingStart {
  readonly sinceMs: number;
  begin(entering: Entering): void;
  refuse(): void;
}

const FIRST_COST_MS = 1;
/** Weight of the newest correction. */
const NEWEST = 0.3;
/** Work for streams that began long ago says little about the cost of a new request. */
const MAX_COST_MS = 50;

export function createStartPace(): StartPace {
  return { dueMs: -Infinity, costMs: FIRST_COST_MS, count: 0, waiting: [], entering: new Set() };
}

/** @param spentMs the account's work since the last call. */
export function correctCost(pace: StartPace, spentMs: number): void {
  if (pace.count === 0) return;
  pace.costMs += NEWEST * (Math.min(spentMs / pace.count, MAX_COST_MS) - pace.costMs);
  pace.count = 0;
}
