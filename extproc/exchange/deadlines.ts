import type { Timeouts } from "../../contract/catalogue.ts";

/** The time that a request has. For a Model with one backend and no times of its own, Envoy keeps it alone (operator/bootstrap/listeners/clients.ts). */
export interface Deadlines {
  /** The upstream's headers have come. */
  began(isStream: boolean): void;
  /** A piece of a streamed answer has come. */
  heard(): void;
  over(): void;
}

/** For a Model with one backend and no times of its own. */
const KEPT_BY_ENVOY: Deadlines = { began() {}, heard() {}, over() {} };

/** What a Model has that names no time: as long as Envoy lets any request be silent. */
export const DEFAULT_FIRST_BYTE_MS = 300_000;
const DEFAULT_IDLE_MS = 300_000;

export interface DeadlinesStart {
  timeouts: Timeouts | undefined;
  /** The time to the first byte is each backend's own (fallback/attempt-exchange.ts). */
  isByAttempt: boolean;
  /** Called once, by whichever time passes first: that of silence, or of the whole answer. */
  onPassed(time: "silence" | "whole"): void;
}

export function startDeadlines({ timeouts, isByAttempt, onPassed }: DeadlinesStart): Deadlines {
  if (timeouts === undefined && !isByAttempt) return KEPT_BY_ENVOY;
  const { firstByteMs = DEFAULT_FIRST_BYTE_MS, idleMs = DEFAULT_IDLE_MS, wholeMs } = timeouts ?? {};
  const whole = wholeMs === undefined ? undefined : setTimeout(pass, wholeMs, "whole");
  let silence = isByAttempt ? undefined : setTimeout(pass, firstByteMs, "silence");

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
      // What is not streamed comes here at once: between its headers and its end there is nothing to hear.
      silence = setTimeout(pass, isStream ? idleMs : firstByteMs, "silence");
    },
    heard: () => void silence?.refresh(),
    over,
  };
}
