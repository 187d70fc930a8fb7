/**
 * Shares this process's one thread among accounts. While an account takes little of it, its messages are handled as they
 * arrive. What is beyond waits for its turn: accounts take turns of equal length, and so do an account's streams. Between turns
 * the process reads what has arrived, so that one stream that sends as fast as it can delays others by a turn, and itself by as
 * much as it likes: a stream with too much waiting is not read from, until flow control stops the sender. A message that holds
 * everybody up for long, such as an answer of 30 MB, is followed by as much time without its account (docs/decisions/0033).
 */
export interface Turns {
  /** @param unknown its work until its account is known; null if it is not counted. */
  lane(stream: LaneStream, unknown?: Share | null): Lane;
}

/** A stream from the scheduler's perspective. */
interface LaneStream {
  handle(message: Buffer): void;
  ended(): void;
  /** Stops reading from it. */
  pause(): void;
  resume(): void;
}

/** One stream's messages, in order. */
export interface Lane {
  take(message: Buffer): void;
  /** The other side sends no more; the stream is notified after its last message. */
  end(): void;
  /** The stream is over: waiting messages are dropped. */
  close(): void;
  /** From here on its time counts as this account's. Until then messages are handled as they arrive. */
  payFrom(share: Share): void;
}

/** An account's part of the process. */
export interface Share {
  /** Time spent on it in the last seconds, ms; fades (account-load.ts). */
  workMs: number;
  /** Remaining time for messages handled as they arrive, ms. */
  readonly atOnce: Allowance;
  /** Its streams with waiting messages; the first is next. */
  readonly waiting: WaitingLane[];
  /** The rest of its turn, ms; below 0 if its last message took longer than its turn. */
  turnMs: number;
  /** Until then it has no turn: its last message held up everybody. */
  restsUntilMs: number;
}

interface WaitingLane {
  /** Since when its next message has been waiting. */
  readonly sinceMs: number;
  /** Handles the next message. @returns whether there are more. */
  next(): boolean;
}

/** Refilled as time passes. */
interface Allowance {
  leftMs: number;
  refilledMs: number;
}

export interface TurnsOptions {
  /** Monotonic. */
  clock: { nowMs(): number };
  /** Calls back once the process has read what has arrived. */
  defer(callback: () => void): void;
  /** Calls back later. */
  deferBy(callback: () => void, afterMs: number): void;
}

/** Handled as they arrive: for one account up to a fifth of the process, 2 ms at a time. */
const ACCOUNT_AT_ONCE = { part: 0.2, maxMs: 2 };
/** And for all accounts together. */
const ALL_AT_ONCE = { part: 0.8, maxMs: 8 };
/** An account is alone once no other has sent anything for so long; it may take the part of all. */
const ALONE_AFTER_MS = 1000;
/** Each account in turn. */
const TURN_MS = 1;
/** Between two reads of arrived messages. */
const ROUND_MS = 5;
/**
 * A request takes several messages one after the other. If each had to wait for another such message, it would wait for all that
 * the account has.
 */
const LONG_MS = 20;
const MAX_REST_MS = 500;
/** A stream with more than this waiting is not read. */
const MAX_WAITING_BYTES = 64 * 1024;

export function createTurns({ clock, defer, deferBy }: TurnsOptions): Turns {
  const all: Allowance = { leftMs: ALL_AT_ONCE.maxMs, refilledMs: clock.nowMs() };
  /** Accounts with waiting messages; the first is next. */
  const accounts: Share[] = [];
  let isDeferred = false;
  /** The account of the latest message. */
  let latest: Share | null = null;
  /** From then on it is alone, unless another account sends something. */
  let aloneFromMs = 0;

  function mayRunAtOnce(share: Share, nowMs: number): boolean {
    refill(all, ALL_AT_ONCE, nowMs);
    refill(share.atOnce, ACCOUNT_AT_ONCE, nowMs);
    const mayTake = isAlone(share, nowMs) || share.atOnce.leftMs > 0;
    return mayTake && all.leftMs > 0 && share.waiting.length === 0 && share.restsUntilMs <= nowMs;
  }

  /** Nobody is there to share with. */
  function isAlone(share: Share, nowMs: number): boolean {
    if (share === latest) return nowMs >= aloneFromMs;
    latest = share;
    aloneFromMs = nowMs + ALONE_AFTER_MS;
    return false;
  }

  function wait(share: Share, lane: WaitingLane): void {
    share.waiting.push(lane);
    if (share.waiting.length === 1) line(share);
  }

  /** It has something waiting. */
  function line(share: Share): void {
    const restMs = share.restsUntilMs - clock.nowMs();
    if (restMs > 0) return deferBy(() => line(share), restMs);
    accounts.push(share);
    deferRound();
  }

  function deferRound(): void {
    if (isDeferred) return;
    isDeferred = true;
    defer(round);
  }

  function round(): void {
    isDeferred = false;
    const untilMs = clock.nowMs() + ROUND_MS;
    for (let share = accounts.shift(); share !== undefined; share = accounts.shift()) {
      turn(share);
      if (share.waiting.length > 0) line(share);
      if (clock.nowMs() >= untilMs) break;
    }
    if (accounts.length > 0) deferRound();
  }

  /** A message that took longer than a turn is paid for with the following turns. */
  function turn(share: Share): void {
    share.turnMs = Math.min(share.turnMs + TURN_MS, TURN_MS);
    for (let nowMs = clock.nowMs(); share.turnMs > 0 && share.restsUntilMs <= nowMs;) {
      const lane = share.waiting.shift();
      if (lane === undefined) return;
      const startedMs = nowMs;
      if (lane.next()) share.waiting.push(lane);
      nowMs = clock.nowMs();
      const spentMs = Math.max(nowMs - startedMs, MIN_MS);
      noteWork(share, spentMs, nowMs);
      share.turnMs -= spentMs;
    }
  }

  function createLane(stream: LaneStream, unknown: Share | null = null): Lane {
    let share: Share | undefined;
    let messages: Buffer[] = [];
    let waitingBytes = 0;
    let isPaused = false;
    let isEnded = false;
    let isClosed = false;

    function handleAtOnce(message: Buffer, startedMs: number): void {
      stream.handle(message);
      const payer = share ?? unknown;
      if (payer === null) return;
      const nowMs = clock.nowMs();
      const spentMs = nowMs - startedMs;
      noteWork(payer, spentMs, nowMs);
      if (share === undefined) return;
      // What it takes while alone is not held against it later.
      if (share.atOnce.leftMs > 0) share.atOnce.leftMs -= spentMs;
      all.leftMs -= spentMs;
    }

    const waitingLane = {
      sinceMs: 0,
      next(): boolean {
        const message = messages.shift();
        if (isClosed || message === undefined) return false;
        waitingBytes -= message.length;
        waitingLane.sinceMs = clock.nowMs();
        stream.handle(message);
        if (messages.length > 0) return true;
        if (isPaused) {
          isPaused = false;
          stream.resume();
        }
        if (isEnded) stream.ended();
        return false;
      },
    };

    return {
      payFrom: (account) => (share = account),
      take(message) {
        const nowMs = clock.nowMs();
        if (share === undefined || (messages.length === 0 && mayRunAtOnce(share, nowMs))) return handleAtOnce(message, nowMs);
        messages.push(message);
        waitingBytes += message.length;
        if (messages.length === 1) {
          waitingLane.sinceMs = nowMs;
          wait(share, waitingLane);
        }
        if (waitingBytes > MAX_WAITING_BYTES && !isPaused) {
          isPaused = true;
          stream.pause();
        }
      },
      end() {
        if (messages.length === 0) stream.ended();
        else isEnded = true;
      },
      close() {
        isClosed = true;
        messages = [];
      },
    };
  }

  return { lane: createLane };
}

/** A clock may not measure very short messages. */
const MIN_MS = 0.001;

export function createShare(): Share {
  return { workMs: 0, atOnce: { leftMs: ACCOUNT_AT_ONCE.maxMs, refilledMs: 0 }, waiting: [], turnMs: 0, restsUntilMs: -Infinity };
}

/** Work of so long has been done for the account. */
export function noteWork(share: Share, spentMs: number, nowMs: number): void {
  share.workMs += spentMs;
  if (spentMs >= LONG_MS) share.restsUntilMs = nowMs + Math.min(spentMs, MAX_REST_MS);
}

/** How long the account's next message has waited. */
export function waitedMs({ waiting }: Share, nowMs: number): number {
  const [next] = waiting;
  return next === undefined ? 0 : nowMs - next.sinceMs;
}

function refill(allowance: Allowance, { part, maxMs }: { part: number; maxMs: number }, nowMs: number): void {
  allowance.leftMs = Math.min(maxMs, allowance.leftMs + (nowMs - allowance.refilledMs) * part);
  allowance.refilledMs = nowMs;
}
