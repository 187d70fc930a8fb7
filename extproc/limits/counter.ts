import type { Limit } from "../../contract/limits.ts";
import type { LimitGrant, LimitMark, LimitUse } from "../../ledger/leases/limit-turns.ts";
import { endOf, MINUTE_MS, startOf } from "./period.ts";

/** One limit of one key or account, counted in this process and shared with the others in turns. */
export interface Counter {
  readonly definition: Limit;
  /** A count, or nano-USD. */
  readonly limit: bigint;
  /** Whether another request may begin. Running ones may exceed the limit: their use is known only at the end. */
  room(nowMs: number): Room;
  /**
   * A request waits for a turn.
   * @returns false if those that wait would use up the limit already.
   */
  startWaiting(amount: bigint): boolean;
  stopWaiting(amount: bigint): void;
  add(amount: bigint, nowMs: number): void;
  /** Requests that run: a number of them, or what they may cost. Less than zero: they have ended. */
  addRunning(amount: bigint, nowMs: number): void;
  /** As known to this process. */
  remaining(nowMs: number): bigint;
  /** When the period ends, Unix ms. */
  resetsMs(nowMs: number): number;
  setLimit(limit: bigint): void;
  /** How urgently it needs a turn. */
  need(nowMs: number): TurnNeed;
  /** Time of its last turn, Unix ms. */
  readonly reportedMs: number;
  /** How soon after its last turn it needs another one. */
  readonly reportWithinMs: number;
  /** Unused for so long that it can be forgotten. */
  isForgotten(nowMs: number): boolean;
  /** For a turn. */
  report(nowMs: number): CounterReport;
  /** The turn did not count. */
  failed(): void;
  /** The turn counted. `grant` is undefined if its grant is unknown. */
  counted(report: CounterReport, outcome: { grant: LimitGrant | undefined; processes: number; nowMs: number }): void;
}

/**
 * `left`: it may begin. `reserved`: what is left is reserved by other processes, and a turn may get part of it. `elsewhere`: at the
 * last turn, other processes' running requests used it up. `running`: this process's do. `none`: it is used up.
 */
export type Room = "left" | "reserved" | "elsewhere" | "running" | "none";

/** `at_once`: requests wait for it; `now`: they would soon; `later`: within a term; `none`: it is not in use. */
type TurnNeed = "at_once" | "now" | "later" | "none";

export interface CounterReport extends Omit<LimitUse, "subject" | "kind"> {
  /** By this process in the period, with what runs. */
  ownUse: bigint;
}

/** By then all users of a limit have taken a turn in a new period. */
const MEET_WITHIN_MS = 10_000;
/** How soon a counter takes its next turn: within the term of its reservation (limit-turns.ts), even if turns are slow. */
const REPORT_WITHIN_MS = 12_000;
const REPORT_RUNNING_WITHIN_MS = 8_000;
/** In a period in which it has not taken a turn yet: so that all have met in time. */
const MEET_SOON_MS = 5_000;
const IDLE_MS = MINUTE_MS;
/** By so much clocks are set back now and then. */
const CORRECTED_WITHIN_MS = MINUTE_MS;
/** Longer than any counted request runs. */
const FORGOTTEN_MS = 2 * 60 * MINUTE_MS;

export function createCounter(definition: Limit, limit: bigint, { processes = 1 } = {}): Counter {
  const { period } = definition;
  let periodStartMs = 0;
  /** In the period, by requests that have ended, or that count as soon as they begin. */
  let used = 0n;
  /** Its part that is known to the others. */
  let reported = 0n;
  let running = 0n;
  let othersUsed = 0n;
  let othersRunning = 0n;
  let sharedBy = processes;
  /** Own use at which this process must stop until its next turn. */
  let bound = evenShare();
  let granted = bound;
  let last: LimitMark | null = null;
  let reportedMs = 0;
  let usedMs = 0;
  let isWanted = false;
  /** By requests that wait for a turn. */
  let awaited = 0n;

  /** A period without any meeting yet is shared evenly. */
  function evenShare(): bigint {
    return limit / BigInt(sharedBy) || (limit > 0n ? 1n : 0n);
  }

  function roll(nowMs: number): void {
    // The clock was set back: what happened before seems to be in the future. It counts as in use now, and is due.
    if (usedMs > nowMs) usedMs = nowMs;
    if (reportedMs > nowMs) reportedMs = 0;
    const start = startOf(period, nowMs);
    if (start === periodStartMs) return;
    // A clock that is corrected by a little stays in the current period. One that was far ahead would stay there for long.
    if (start < periodStartMs && periodStartMs - nowMs < CORRECTED_WITHIN_MS) return;
    periodStartMs = start;
    used = 0n;
    reported = 0n;
    othersUsed = 0n;
    othersRunning = 0n;
    last = null;
    bound = evenShare();
    granted = bound;
    isWanted = false;
  }

  const ownUse = () => used + running;
  const rest = () => limit - ownUse() - othersUsed - othersRunning;

  function wantMore(): void {
    if ((bound - ownUse()) * 2n < granted && rest() > 0n) isWanted = true;
  }

  /**
   * The reservation of a process that has not used the limit since its last turn: enough to begin with; the others get the rest.
   */
  function spareShare(): bigint {
    return rest() > 0n ? rest() / BigInt(sharedBy * 2) || 1n : 0n;
  }

  const isInUse = (nowMs: number) => nowMs - usedMs < IDLE_MS || running !== 0n;

  return {
    definition,
    get limit() {
      return limit;
    },
    get reportedMs() {
      return reportedMs;
    },
    get reportWithinMs() {
      if (period === null) return REPORT_RUNNING_WITHIN_MS;
      return last === null ? MEET_SOON_MS : REPORT_WITHIN_MS;
    },
    room(nowMs) {
      roll(nowMs);
      usedMs = nowMs;
      if (rest() <= 0n && used + othersUsed >= limit) return "none";
      if (rest() > 0n && ownUse() < bound) return "left";
      // Another turn may help.
      isWanted = true;
      if (rest() > 0n) return "reserved";
      return ownUse() + othersUsed < limit ? "elsewhere" : "running";
    },
    startWaiting(amount) {
      if (ownUse() + othersUsed + awaited >= limit) return false;
      awaited += amount;
      return true;
    },
    stopWaiting(amount) {
      awaited -= amount;
    },
    add(amount, nowMs) {
      roll(nowMs);
      usedMs = nowMs;
      used += amount;
      wantMore();
    },
    addRunning(amount, nowMs) {
      roll(nowMs);
      usedMs = nowMs;
      running += amount;
      wantMore();
    },
    remaining(nowMs) {
      roll(nowMs);
      return rest() > 0n ? rest() : 0n;
    },
    resetsMs: (nowMs) => endOf(period, nowMs),
    setLimit(changed) {
      if (changed === limit) return;
      limit = changed;
      granted = rest() > 0n ? rest() / BigInt(sharedBy) || 1n : 0n;
      bound = ownUse() + granted;
      isWanted = true;
    },
    need(nowMs) {
      roll(nowMs);
      if (!isInUse(nowMs)) return "none";
      if (awaited > 0n) return "at_once";
      return isWanted ? "now" : "later";
    },
    isForgotten(nowMs) {
      roll(nowMs);
      // Without a period, the mark of its last turn stays, and is long over.
      return nowMs - usedMs >= FORGOTTEN_MS && ownUse() === 0n && (last === null || period === null);
    },
    report(nowMs) {
      roll(nowMs);
      const isIdle = last !== null && !isWanted && used === reported && running === 0n && sharedBy > 1;
      const most = isIdle ? spareShare() : limit;
      if (bound - ownUse() > most) bound = ownUse() + most;
      isWanted = false;
      return {
        periodStartMs,
        limit,
        added: used - reported,
        running,
        unused: bound > ownUse() ? bound - ownUse() : 0n,
        most,
        last,
        isNew: period !== null && nowMs - periodStartMs < MEET_WITHIN_MS,
        ownUse: ownUse(),
      };
    },
    failed() {
      isWanted = true;
    },
    counted(report, { grant, processes: by, nowMs }) {
      sharedBy = Math.max(1, by);
      reportedMs = nowMs;
      if (report.periodStartMs !== periodStartMs) return;
      reported += report.added;
      if (grant === undefined) {
        // Its reservations free themselves.
        last = null;
        return;
      }
      othersRunning = grant.running - report.running;
      othersUsed = grant.used - report.ownUse - othersRunning;
      // A share below the previous reservation is given up only now: the others learn of it in the next turn.
      const reserved = grant.grantedUse > report.unused ? grant.grantedUse : report.unused;
      last = { term: grant.term, reserved, running: report.running };
      if (report.limit !== limit) return;
      granted = grant.grantedUse;
      bound = report.ownUse + granted;
    },
  };
}
