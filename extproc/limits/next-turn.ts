import { createWakeUp, inTime, type WakeUp } from "../../runtime/wait.ts";
import { createPace } from "../load/pace.ts";

/** The next turn of this process's limits, for requests that only it may admit (docs/decisions/0095). */
export interface NextTurn {
  /** Resolves when a turn that begins after this call has counted; rejects if none does within `ms`. */
  wait(ms: number): Promise<void>;
  /** Takes a turn. */
  take(turn: () => Promise<void>): Promise<void>;
  /** Waits until a request waits for the next turn. */
  untilWanted: WakeUp["wait"];
}

/** Turns that requests cause, beside the one each second. */
const HURRY = { perSecond: 5, burst: 10 };

/** @param clock monotonic. */
export function createNextTurn(clock: { nowMs(): number }): NextTurn {
  const wanted = createWakeUp();
  const hurry = createPace(HURRY);
  let next = announce();
  /** The next turn does not wait for its second. */
  let isCaused = false;
  let isFailing = false;

  return {
    async wait(ms) {
      if (isFailing) throw new Error("Limits are not shared at present.");
      const turn = next.promise;
      // One turn is for all that wait.
      if (!isCaused && hurry.take(clock.nowMs())) {
        isCaused = true;
        wanted.wake();
      }
      await inTime(turn, ms, () => new Error("No turn has counted in time."));
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
