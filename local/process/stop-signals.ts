import type { EventEmitter } from "node:events";

/** npm forwards a signal that the terminal has already sent to the whole group: within this time both count as one. */
const SAME_WITHIN_MS = 1_000;

export interface StopSignals {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Resolves at the first signal. */
  readonly requested: Promise<undefined>;
}

/** The first SIGINT, SIGTERM or SIGHUP asks to stop; a later one, by someone who will not wait, forces it. */
export function createStopSignals(source: EventEmitter, onForced: () => void, now = () => performance.now()): StopSignals {
  const controller = new AbortController();
  const { promise: requested, resolve } = Promise.withResolvers<undefined>();
  let firstAt: number | undefined;

  function receive(): void {
    if (firstAt === undefined) {
      firstAt = now();
      controller.abort(new Error("Stopped while starting."));
      resolve(undefined);
    } else if (now() - firstAt > SAME_WITHIN_MS) {
      onForced();
    }
  }
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) source.on(name, receive);
  return { signal: controller.signal, requested };
}
