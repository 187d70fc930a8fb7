import { createPace, type Pace } from "./pace.ts";
import { correctCost, createStartPace, type StartPace } from "./start-pace.ts";
import { createShare, type Share } from "./turns.ts";

/** The load of one account on this process. */
export interface AccountLoad {
  /** Requests in flight. */
  open: number;
  /** Usage reports in progress. */
  openReports: number;
  /** Its work when that last faded, ms. */
  rememberedWorkMs: number;
  /** Its part of the process's time, and its recent share of it. */
  readonly share: Share;
  /** How fast its requests start. */
  readonly starts: StartPace;
  readonly reports: Pace;
  readonly lookups: Pace;
  /** Mebibytes of stored responses that it read. */
  readonly retrievals: Pace;
  readonly refusals: Pace;
}

/** The accounts with activity in the last seconds; others have no load. */
export interface AccountLoads {
  of(accountId: string): AccountLoad;
  /** Accounts that caused at least a hundredth of the process's work in the last seconds. */
  readonly size: number;
  /** Work of the last seconds for all accounts, ms. */
  readonly workMs: number;
  /** Of callers without a valid key, who have no account. Not in the sums above: no account gets less of the process for it. */
  readonly strangers: Share;
  stop(): void;
}

const FADE_EVERY_MS = 100;
/** Half of the work is forgotten after 1.4 s. */
const REMAINING = 0.95;
/** The recorded work of an account that uses the whole process. */
export const FULL_WORK_MS = FADE_EVERY_MS / (1 - REMAINING);
/** An account with fewer requests in flight is no flood: it waits for their answers before it sends more. */
export const FLOOD_OPEN = 16;
export const COUNTED_MS = 20;
const NEGLIGIBLE_MS = 0.01;

/** Answers that are free for the caller: far above what tools request, far below what would be noticed. */
export const REPORTS = { perSecond: 20, burst: 40 };
export const LOOKUPS = { perSecond: 100, burst: 200 };
/** Envoy may buffer an unread answer for minutes, without reporting it. */
export const RETRIEVED_MEBIBYTES = { perSecond: 1, burst: 32 };
/** Refused clients return at most this fast; see refusals.ts. */
export const REFUSALS = { perSecond: 200, burst: 200, maxDelayMs: 2_000 };

export function startAccountLoads(): AccountLoads {
  const loads = new Map<string, AccountLoad>();
  const strangers = createShare();
  let workMs = 0;
  let size = 0;

  /** The sum is recalculated each time, so additions in between count from the next time on. */
  function fade(): void {
    workMs = 0;
    size = 0;
    strangers.workMs *= REMAINING;
    for (const [accountId, load] of loads) {
      correctCost(load.starts, load.share.workMs - load.rememberedWorkMs);
      load.share.workMs *= REMAINING;
      load.rememberedWorkMs = load.share.workMs;
      workMs += load.share.workMs;
      if (load.share.workMs >= COUNTED_MS) size += 1;
      if (load.open === 0 && load.openReports === 0 && load.share.workMs < NEGLIGIBLE_MS) loads.delete(accountId);
    }
  }
  const timer = setInterval(fade, FADE_EVERY_MS).unref();

  return {
    of(accountId) {
      const known = loads.get(accountId);
      if (known !== undefined) return known;
      const load = createAccountLoad();
      loads.set(accountId, load);
      return load;
    },
    get size() {
      return size;
    },
    get workMs() {
      return workMs;
    },
    strangers,
    stop: () => clearInterval(timer),
  };
}

export function createAccountLoad(): AccountLoad {
  return {
    open: 0,
    openReports: 0,
    rememberedWorkMs: 0,
    share: createShare(),
    starts: createStartPace(),
    reports: createPace(REPORTS),
    lookups: createPace(LOOKUPS),
    retrievals: createPace(RETRIEVED_MEBIBYTES),
    refusals: createPace(REFUSALS),
  };
}
