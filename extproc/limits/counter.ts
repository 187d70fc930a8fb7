import type { Limit } from "../../contract/limits.ts";
import type { OthersUse } from "../../ledger/leases/limits.ts";
import { DAY_MS } from "../../contract/days.ts";

/** One limit of one key or account, counted in this process and shared with the others about once a second. */
export interface Counter {
  readonly definition: Limit;
  /** A count, or nano-USD. */
  readonly limit: bigint;
  /** Nothing more may begin. What has begun may pass the limit: what it uses is known only at its end. */
  isSpent(nowMs: number): boolean;
  add(amount: bigint, nowMs: number): void;
  /** As far as this process knows. */
  remaining(nowMs: number): bigint;
  /** When the period ends, Unix ms. */
  resetsMs(nowMs: number): number;
  /** For the exchange: this process's own use in the running period. */
  own(nowMs: number): { periodStartMs: number; used: bigint };
  /**
   * Learns what the others do in that period, and decides how far this process may go until the next time. Until
   * `confirm` the lower of the old bound and the new one holds: the others may not know of the new one.
   * @returns the bound.
   */
  claim(learned: { periodStartMs: number; others: OthersUse; holders: number; nowMs: number }): bigint;
  confirm(): void;
  setLimit(limit: bigint): void;
}

const MINUTE_MS = 60_000;
/** Processes meet each second; by then all that know a limit have been there. */
const MEET_WITHIN_MS = 2_500;
/** Running requests have no period; another may begin when one has ended. */
const CONCURRENT_RESET_MS = 1_000;

export function createCounter(definition: Limit, limit: bigint, { holders = 1 } = {}): Counter {
  const { period } = definition;
  let periodStartMs = 0;
  let used = 0n;
  let others = 0n;
  let sharedBy = holders;
  /** Own use at which this process must stop until it has met the others. */
  let bound = firstBound();
  let nextBound = bound;

  /** A period that nobody has met in yet is shared evenly. */
  function firstBound(): bigint {
    return limit / BigInt(sharedBy) || (limit > 0n ? 1n : 0n);
  }

  function roll(nowMs: number): void {
    const start = startOf(period, nowMs);
    // A clock that was set back stays in the period that it has left.
    if (start <= periodStartMs) return;
    periodStartMs = start;
    used = 0n;
    others = 0n;
    bound = firstBound();
    nextBound = bound;
  }

  /**
   * An even share of what nobody has claimed. Where all is claimed but not used, one more may begin here: a process whose
   * clients come must not wait for ever for another whose clients do not. This is what the processes may pass a limit by.
   */
  function chooseBound(their: Pick<OthersUse, "used" | "claimed">): bigint {
    const unclaimed = limit - used - their.claimed;
    if (unclaimed >= BigInt(sharedBy)) return used + unclaimed / BigInt(sharedBy);
    return used + their.used < limit ? used + 1n : used;
  }

  return {
    definition,
    get limit() {
      return limit;
    },
    isSpent(nowMs) {
      roll(nowMs);
      return used >= bound || used + others >= limit;
    },
    add(amount, nowMs) {
      roll(nowMs);
      used += amount;
    },
    remaining(nowMs) {
      roll(nowMs);
      const left = limit - used - others;
      return left > 0n ? left : 0n;
    },
    resetsMs: (nowMs) => endOf(period, nowMs),
    own(nowMs) {
      roll(nowMs);
      return { periodStartMs, used };
    },
    claim({ periodStartMs: ofPeriod, others: their, holders: by, nowMs }) {
      sharedBy = Math.max(1, by);
      if (ofPeriod !== periodStartMs) return 0n;
      others = their.used;
      // Who has not been here since the period began goes by its even share.
      const isNew = period !== null && nowMs - periodStartMs < MEET_WITHIN_MS;
      const unmet = isNew ? BigInt(Math.max(0, sharedBy - 1 - their.met)) : 0n;
      nextBound = chooseBound({ used: their.used, claimed: their.claimed + unmet * firstBound() });
      if (nextBound < bound) bound = nextBound;
      return nextBound;
    },
    confirm() {
      bound = nextBound;
    },
    setLimit(changed) {
      if (changed === limit) return;
      limit = changed;
      bound = chooseBound({ used: others, claimed: others });
      nextBound = bound;
    },
  };
}

function startOf(period: Limit["period"], nowMs: number): number {
  switch (period) {
    case "minute":
      return nowMs - (nowMs % MINUTE_MS);
    case "day":
      return nowMs - (nowMs % DAY_MS);
    case "month": {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
    }
    case null:
      return 0;
  }
}

function endOf(period: Limit["period"], nowMs: number): number {
  switch (period) {
    case "minute":
      return startOf(period, nowMs) + MINUTE_MS;
    case "day":
      return startOf(period, nowMs) + DAY_MS;
    case "month": {
      const now = new Date(nowMs);
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    }
    case null:
      return nowMs + CONCURRENT_RESET_MS;
  }
}
