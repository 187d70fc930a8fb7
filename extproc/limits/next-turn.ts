import { createWakeUp, inTime, type WakeUp } from "../../runtime/wait.ts";
import { createPace } from "../load/pace.ts";

/** The next turn of this process's limits, for requests that only it may admit (docs/decisions/0095). */
export interface NextTurn {
  /**
   * Resolves when a turn that begins after this call has counted; rejects if none does within `ms`, or if too many limits are waited
   * for.
   * @param limit what the request waits for.
   */
  wait(limit: object, ms: number): Promise<void>;
  /** Takes a turn. */
  take(turn: () => Promise<void>): Promise<void>;
  /** Waits until a request waits for the next turn. */
  untilWanted: WakeUp["wait"];
}

/** Turns that requests cause, beside the one each second. */
const HURRY = { perSecond: 1, burst: 5 };
/** If requests wait for more limits, the turn of the next second serves them all: other processes may be as busy. */
const MAX_HURRIED_LIMITS = 10;
/** Each that requests wait for is reported in each turn. */
const MAX_AWAITED_LIMITS = 50;

/** @param clock monotonic. */
export function createNextTurn(clock: { nowMs(): number }): NextTurn {
  const wanted = createWakeUp();
  const hurry = createPace(HURRY);
  let next = announce();
  /** The next turn does not wait for its second. */
  let isCaused = false;
  let isFailing = false;
  /** With the number of requests that wait for each. */
  const waitedFor = new Map<object, number>();

  function note(limit: object, change: 1 | -1): void {
    const waiting = (waitedFor.get(limit) ?? 0) + change;
    if (waiting === 0) waitedFor.delete(limit);
    else waitedFor.set(limit, waiting);
  }

  return {
    async wait(limit, ms) {
      if (isFailing) throw new Error("Limits are not shared at present.");
      if (waitedFor.size >= MAX_AWAITED_LIMITS && !waitedFor.has(limit)) throw new Error("Requests wait for many other limits.");
      const turn = next.promise;
      note(limit, 1);
      // One turn is for all that wait.
      if (!isCaused && waitedFor.size <= MAX_HURRIED_LIMITS && hurry.take(clock.nowMs())) {
        isCaused = true;
        wanted.wake();
      }
      try {
        await inTime(turn, ms, () => new Error("No turn has counted in time."));
      } finally {
        note(limit, -1);
      }
    },
    async take(turn) {
      const taken = next;
      next = announce();
      isCaused = false;
      try {
        await turn();
        isFailing = false;
        taken.resolve();
      } catch (error) {
        isFailing = true;
        taken.reject(error);
        throw error;
      }
    },
    untilWanted: wanted.wait,
  };
}

function announce() {
  const turn = Promise.withResolvers<void>();
  // Nobody may be waiting for it.
  turn.promise.catch(() => {});
  return turn;
}
