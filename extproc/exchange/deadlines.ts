import type { Timeouts } from "../../contract/catalogue.ts";

/**
 * The timeouts of a request. For a Model with one backend and no timeouts of its own, Envoy enforces them alone
 * (operator/bootstrap/listeners/clients.ts).
 */
export interface Deadlines {
  /** The upstream's headers have come. */
  began(isStream: boolean): void;
  /** A piece of a streamed answer has arrived. */
  heard(): void;
  /** Pieces are not read for a while: silence is not the server's. */
  held(isHeld: boolean): void;
  over(): void;
}

/** For a Model with one backend and no timeouts of its own. */
const KEPT_BY_ENVOY: Deadlines = { began() {}, heard() {}, held() {}, over() {} };

/** For a Model without timeouts: as long as Envoy allows any request to be silent. */
export const DEFAULT_FIRST_BYTE_MS = 300_000;
const DEFAULT_IDLE_MS = 300_000;

export interface DeadlinesStart {
  timeouts: Timeouts | undefined;
  /** The time to the first byte belongs to each backend (fallback/attempt-exchange.ts). */
  isByAttempt: boolean;
  /** Called once, by whichever timeout comes first: for silence, or for the whole answer. */
  onPassed(time: "silence" | "whole"): void;
}

export function startDeadlines({ timeouts, isByAttempt, onPassed }: DeadlinesStart): Deadlines {
  if (timeouts === undefined && !isByAttempt) return KEPT_BY_ENVOY;
  const { firstByteMs = DEFAULT_FIRST_BYTE_MS, idleMs = DEFAULT_IDLE_MS, wholeMs } = timeouts ?? {};
  const whole = wholeMs === undefined ? undefined : setTimeout(pass, wholeMs, "whole");
  let silence = isByAttempt ? undefined : setTimeout(pass, firstByteMs, "silence");
  let isUnread = false;

  function pass(time: "silence" | "whole"): void {
    over();
    onPassed(time);
  }

  function over(): void {
    clearTimeout(whole);
    clearTimeout(silence);
    // A cleared timer that is refreshed runs again.
    silence = undefined;
  }

  return {
    began(isStream) {
      clearTimeout(silence);
      // A complete answer arrives here at once: nothing can be observed between its headers and its end.
      silence = setTimeout(pass, isStream ? idleMs : firstByteMs, "silence");
    },
    heard() {
      if (!isUnread) silence?.refresh();
    },
    held(isHeld) {
      isUnread = isHeld;
      if (isHeld) clearTimeout(silence);
      else silence?.refresh();
    },
    over,
  };
}
