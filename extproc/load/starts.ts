import { GatewayError } from "../../contract/errors.ts";
import { FLOOD_OPEN, FULL_WORK_MS, type AccountLoad, type AccountLoads } from "./account-load.ts";
import type { Lateness } from "./lateness.ts";

/**
 * Paces how fast one account's requests start while others use the process too. Started requests are in Envoy's and this
 * process's queues, ahead of all later ones; a request that waits at its headers costs them nothing. So an account with many
 * requests in flight starts only as many as leave part of the process idle, and the rest wait here, in order of arrival.
 */
export interface Starts {
  /** @returns null if the request may start at once. */
  wait(load: AccountLoad): Wait | null;
  stop(): void;
}

interface Wait {
  /** Rejects with GatewayError `rate_limited` if that takes too long. */
  readonly begun: Promise<void>;
  /** The client has left. Idempotent. */
  cancel(): void;
}

export interface StartsDeps {
  loads: Pick<AccountLoads, "size" | "workMs">;
  /** Monotonic. */
  clock: { nowMs(): number };
  lateness: Pick<Lateness, "meanMs">;
  /** Whether no other account has requested anything lately. */
  isAlone(load: AccountLoad): boolean;
  onDelayed(): void;
  onRefused(reason: "work"): void;
  /** Calls back later. @returns what cancels that. */
  defer(callback: () => void, afterMs: number): () => void;
}

/** Of the process's time, for all accounts: the rest keeps queues short. */
const MAX_PART = 0.8;
/** While the process is still late, because its machine has other work, the part shrinks to this. */
const MIN_PART = 0.15;
const LATE_MS = 4;
const SHRINK = 0.7;
const GROW = 0.01;
const ADAPT_EVERY_MS = 100;
/** Starts that may come at once, as time at the pace. */
const AHEAD_MS = 20;
/**
 * Requests that have waited longer are refused: not all at once, because a flood's clients retry at once, unless Envoy would soon
 * give up (10 s).
 */
const MAX_WAIT_MS = 5_000;
const REFUSE_EVERY_MS = 10;
const MAX_WAIT_OF_ALL_MS = 8_000;
const LOOK_EVERY_MS = 2;

const COME_AGAIN = { headers: { "retry-after": "1" } };

export function createStarts({ loads, clock, lateness, isAlone, onDelayed, onRefused, defer }: StartsDeps): Starts {
  /** Accounts with waiting requests. */
  const delayed = new Set<AccountLoad>();
  let cancelLook: (() => void) | undefined;

  let part = MAX_PART;
  let adaptedMs = clock.nowMs();
  let refusedMs = -Infinity;

  function adapt(nowMs: number): void {
    const steps = Math.floor((nowMs - adaptedMs) / ADAPT_EVERY_MS);
    if (steps === 0) return;
    adaptedMs = nowMs;
    part = lateness.meanMs > LATE_MS ? Math.max(MIN_PART, part * SHRINK) : Math.min(MAX_PART, part + steps * GROW);
  }

  /** What the others leave, and at least an even part. */
  function partFor({ share }: AccountLoad): number {
    const others = Math.max(0, loads.workMs - share.workMs) / FULL_WORK_MS;
    return Math.max(part - others, part / Math.max(1, loads.size), MIN_PART);
  }

  const intervalMs = (load: AccountLoad) => load.starts.costMs / partFor(load);

  function mayBegin(load: AccountLoad, nowMs: number): boolean {
    return load.open < FLOOD_OPEN || load.starts.dueMs - AHEAD_MS <= nowMs || isAlone(load);
  }

  function noteStart(load: AccountLoad, nowMs: number): void {
    const { starts } = load;
    starts.count += 1;
    starts.dueMs = Math.min(Math.max(starts.dueMs, nowMs) + intervalMs(load), nowMs + MAX_WAIT_MS);
  }

  function isOverdue(sinceMs: number, nowMs: number): boolean {
    const waitedMs = nowMs - sinceMs;
    return waitedMs > MAX_WAIT_OF_ALL_MS || (waitedMs > MAX_WAIT_MS && nowMs - refusedMs >= REFUSE_EVERY_MS);
  }

  function lookLater(): void {
    cancelLook ??= defer(look, LOOK_EVERY_MS);
  }

  function look(): void {
    cancelLook = undefined;
    const nowMs = clock.nowMs();
    adapt(nowMs);
    for (const load of delayed) {
      const { waiting } = load.starts;
      for (let [next] = waiting; next !== undefined; [next] = waiting) {
        const mayStart = mayBegin(load, nowMs);
        if (!mayStart && !isOverdue(next.sinceMs, nowMs)) break;
        waiting.shift();
        if (mayStart) {
          noteStart(load, nowMs);
          next.begin();
        } else {
          refusedMs = nowMs;
          next.refuse();
        }
      }
      if (waiting.length === 0) delayed.delete(load);
    }
    if (delayed.size > 0) lookLater();
  }

  function tooMany({ open }: AccountLoad): GatewayError {
    onRefused("work");
    return new GatewayError(
      "rate_limited",
      `The gateway is busy, and your account has ${open} requests in flight, more than its share. Send fewer requests at a time, or try again in a moment.`,
      COME_AGAIN,
    );
  }

  return {
    wait(load) {
      const nowMs = clock.nowMs();
      adapt(nowMs);
      const { waiting } = load.starts;
      if (waiting.length === 0 && mayBegin(load, nowMs)) {
        noteStart(load, nowMs);
        return null;
      }
      onDelayed();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const start = { sinceMs: nowMs, begin: resolve, refuse: () => reject(tooMany(load)) };
      waiting.push(start);
      delayed.add(load);
      lookLater();
      return {
        begun: promise,
        cancel() {
          const index = waiting.indexOf(start);
          if (index >= 0) waiting.splice(index, 1);
        },
      };
    },
    stop: () => cancelLook?.(),
  };
}
