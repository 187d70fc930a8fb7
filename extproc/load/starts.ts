import { GatewayError } from "../../contract/errors.ts";
import { FLOOD_OPEN, FULL_WORK_MS, type AccountLoad, type AccountLoads } from "./account-load.ts";
import type { Lateness } from "./lateness.ts";
import type { Entering } from "./start-pace.ts";

/**
 * Paces how fast one account's requests start. Started requests are in Envoy's and this process's queues, ahead of all later
 * ones; a request that waits at its headers costs them nothing. So an account with many requests in flight starts the next ones
 * when the last ones have come through, and beside others only as many as leave part of the process idle. The rest wait here, in
 * order of arrival.
 */
export interface Starts {
  /** @returns null if the request may start at once and is not counted, because its account has few. */
  start(load: AccountLoad): Start | null;
  stop(): void;
}

export interface Start {
  /** Null if it has begun. Rejects with GatewayError `rate_limited` if that takes too long. */
  readonly begun: Promise<void> | null;
  /** Its body has come, or its client has left. Idempotent. */
  entered(): void;
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
/**
 * An account's requests between their headers and their body. While it is alone nothing else bounds its queues, and more would
 * not be faster: 600 stood before the first request of the next account for most of a second.
 */
const MAX_ENTERING = FLOOD_OPEN;
/** Then the client is slow to send its body, and the request no longer counts. */
const ENTERS_WITHIN_MS = 50;

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
    return load.open < FLOOD_OPEN || (mayEnter(load, nowMs) && (load.starts.dueMs - AHEAD_MS <= nowMs || isAlone(load)));
  }

  function mayEnter({ starts: { entering } }: AccountLoad, nowMs: number): boolean {
    for (const each of entering) {
      if (entering.size < MAX_ENTERING || nowMs - each.sinceMs < ENTERS_WITHIN_MS) break;
      entering.delete(each);
    }
    return entering.size < MAX_ENTERING;
  }

  function noteStart({ starts }: AccountLoad, interval: number, nowMs: number): void {
    starts.count += 1;
    starts.dueMs = Math.min(Math.max(starts.dueMs, nowMs) + interval, nowMs + MAX_WAIT_MS);
  }

  /** Starts a request of an account with many. */
  function enter(load: AccountLoad, nowMs: number): Entering {
    noteStart(load, intervalMs(load), nowMs);
    const entering = { sinceMs: nowMs };
    load.starts.entering.add(entering);
    return entering;
  }

  function leave(load: AccountLoad, entering: Entering): void {
    if (load.starts.entering.delete(entering) && load.starts.waiting.length > 0) beginWaiting(load, clock.nowMs());
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
    for (const load of delayed) beginWaiting(load, nowMs);
    if (delayed.size > 0) lookLater();
  }

  function beginWaiting(load: AccountLoad, nowMs: number): void {
    const { waiting } = load.starts;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const isLate = isOverdue(next.sinceMs, nowMs);
      // Nobody else needs the place of an account that is alone.
      const mayStart = mayBegin(load, nowMs) || (isLate && isAlone(load));
      if (!mayStart && !isLate) break;
      waiting.shift();
      if (mayStart) {
        next.begin(enter(load, nowMs));
      } else {
        refusedMs = nowMs;
        next.refuse();
      }
    }
    if (waiting.length === 0) delayed.delete(load);
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
    start(load) {
      const nowMs = clock.nowMs();
      adapt(nowMs);
      const { waiting } = load.starts;
      if (waiting.length === 0 && load.open < FLOOD_OPEN) {
        noteStart(load, intervalMs(load), nowMs);
        return null;
      }
      if (waiting.length === 0 && mayBegin(load, nowMs)) {
        const entering = enter(load, nowMs);
        return { begun: null, entered: () => leave(load, entering) };
      }
      onDelayed();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      let entering: Entering | undefined;
      const waitingStart = {
        sinceMs: nowMs,
        begin(begun: Entering) {
          entering = begun;
          resolve();
        },
        refuse: () => reject(tooMany(load)),
      };
      waiting.push(waitingStart);
      delayed.add(load);
      lookLater();
      return {
        begun: promise,
        entered() {
          const index = entering === undefined ? waiting.indexOf(waitingStart) : -1;
          if (index >= 0) waiting.splice(index, 1);
          if (entering !== undefined) leave(load, entering);
        },
      };
    },
    stop: () => cancelLook?.(),
  };
}
