import type { GatewayError } from "../../contract/errors.ts";
import type { Leasing } from "../../ledger/feed/rows.ts";
import { createCreditLine, type CreditLine } from "./credit-line.ts";
import { heldByOthers, short, unavailable } from "./credit-refusal.ts";
import { shareOf, type WalletSize } from "./hold-share.ts";
import type { Departure, Hold } from "./hold.ts";
import type { Waiter, WalletDeps } from "./wallet-state.ts";

/** One account's credit in this process: one lease, and the holds on it. The sum of holds never passes what is left. */
export interface Wallet extends Pick<
  CreditLine,
  "leaseId" | "isDue" | "renewed" | "lost" | "isSmall" | "trim" | "giveBack" | "close"
> {
  /** At once where the lease covers it; else it waits in turn, at most `WAIT_MS`. Rejects with a GatewayError. */
  admit(size: WalletSize, signal: Departure): Hold | Promise<Hold>;
  readonly heldNanoUsd: bigint;
  readonly holds: number;
  /** The account's credit has changed: gives up what is no longer there, or what others need and nothing uses here. */
  note(leasing: Leasing): void;
  /** Nothing runs and nothing has for a while. */
  isIdle(nowMs: number, idleMs: number): boolean;
}

const WAIT_MS = 2_000;
const MAX_WAITING = 2_000;
/** How long "nothing is free" is believed before the database is asked again. */
const EMPTY_FOR_MS = 250;
/** Under constant settling an account's row changes many times a second: so often those that wait look at it. */
const LOOK_EVERY_MS = 50;

export function createWallet({ waitMs = WAIT_MS, ...deps }: WalletDeps): Wallet {
  const { clock } = deps;
  const waiting = new Set<Waiter>();
  let heldNanoUsd = 0n;
  let holds = 0;
  /** Of those that wait. */
  let retry: NodeJS.Timeout | undefined;
  let recalledMs = -Infinity;
  let lastUsedMs = clock.nowMs();
  const line = createCreditLine({ ...deps, heldNanoUsd: () => heldNanoUsd, onChanged: serve });

  /** How much a request is to hold. Until the database has said that it is too much, a client's own limit is held in full. */
  function amountFor(size: WalletSize): bigint {
    const totalNanoUsd = line.isFresh(EMPTY_FOR_MS) ? line.totalNanoUsd : size.fullNanoUsd;
    return shareOf(size, { freeNanoUsd: line.restNanoUsd + line.unleasedNanoUsd, totalNanoUsd, holds });
  }

  function admit(size: WalletSize, signal: Departure): Hold | Promise<Hold> {
    lastUsedMs = clock.nowMs();
    if (waiting.size === 0 && line.isInForce) {
      const amount = amountFor(size);
      if (line.restNanoUsd >= amount) {
        const hold = startHold(amount);
        line.refill();
        return hold;
      }
    }
    if (waiting.size >= MAX_WAITING) throw heldByOthers();
    return wait(size, signal);
  }

  async function wait(size: WalletSize, signal: Departure): Promise<Hold> {
    const { promise, resolve, reject } = Promise.withResolvers<Hold>();
    const timer = setTimeout(() => expire(waiter), waitMs);
    const waiter: Waiter = { size, signal, sinceMs: clock.nowMs(), timer, resolve, reject };
    waiting.add(waiter);
    serve();
    return promise;
  }

  /** It has waited for as long as it may: what is there must do. */
  function expire(waiter: Waiter): void {
    if (!beginOnLess(waiter)) refuse(waiter, line.isFresh(WAIT_MS) ? heldByOthers() : unavailable());
  }

  /** In turn: a large request at the head is not passed by small ones for ever. */
  function serve(): void {
    for (const waiter of waiting) {
      const amount = amountFor(waiter.size);
      if (waiter.signal.aborted) refuse(waiter, unavailable());
      else if (line.isInForce && line.restNanoUsd >= amount) accept(waiter, amount);
      else if (!handleShortfall(waiter, amount)) return;
    }
  }

  /** Of a waiter whose hold does not fit. @returns false while it goes on waiting. */
  function handleShortfall(waiter: Waiter, amount: bigint): boolean {
    if (line.isAsking) return false;
    const { minNanoUsd, isOpen } = waiter.size;
    if (line.isAway) {
      // The lease is in force and other requests of this process will free enough.
      if (line.isInForce && line.restNanoUsd + heldNanoUsd >= amount) return false;
      if (!isOpen || !beginOnLess(waiter)) refuse(waiter, unavailable());
      return true;
    }
    const neededNanoUsd = (isOpen ? minNanoUsd : amount) - line.restNanoUsd;
    const unleased = line.unleasedNanoUsd;
    const total = line.totalNanoUsd;
    const isShort = total < minNanoUsd;
    const isKnown = line.isFresh(EMPTY_FOR_MS) && !(isShort && line.isOutdated(waiter.sinceMs));
    if (!isKnown || (unleased > 0n && unleased >= neededNanoUsd)) {
      line.ask({ neededNanoUsd, wantedNanoUsd: amount - line.restNanoUsd });
      return false;
    }
    if (isShort) {
      refuse(waiter, short(waiter.size.describe(total > 0n ? total : 0n), waiter.size.remedy, deps.topUpUrl));
      return true;
    }
    // Requests that run, or other processes, may free enough: asked again soon. Timers count whole milliseconds, and may be early.
    retry ??= setTimeout(() => {
      retry = undefined;
      serve();
    }, EMPTY_FOR_MS + 1).unref();
    return false;
  }

  /** On a part of what is left here, where that is enough for the least. */
  function beginOnLess(waiter: Waiter): boolean {
    const rest = line.restNanoUsd;
    if (!line.isInForce || rest < waiter.size.minNanoUsd) return false;
    accept(waiter, shareOf(waiter.size, { freeNanoUsd: rest, totalNanoUsd: rest, holds }));
    return true;
  }

  function accept(waiter: Waiter, nanoUsd: bigint): void {
    waiting.delete(waiter);
    clearTimeout(waiter.timer);
    waiter.resolve(startHold(nanoUsd));
    line.refill();
  }

  function refuse(waiter: Waiter, error: GatewayError): void {
    waiting.delete(waiter);
    clearTimeout(waiter.timer);
    waiter.reject(error);
  }

  /**
   * The first of those that wait cannot begin on what is left here, and has asked in vain: where several processes wait, each would
   * keep what the others lack.
   */
  function isStuck(): boolean {
    const [first] = waiting;
    if (first === undefined || line.isAsking || line.restNanoUsd >= first.size.minNanoUsd) return false;
    return clock.nowMs() - first.sinceMs >= EMPTY_FOR_MS;
  }

  function note({ freeNanoUsd, recall }: Leasing): void {
    line.hear(freeNanoUsd);
    // Not by order: the clock of a new primary may be behind that of the last one.
    const isNewRecall = recall !== null && recall.atMs !== recalledMs;
    if (isNewRecall) recalledMs = recall.atMs;
    if (freeNanoUsd < 0n) return;
    if (isNewRecall && (waiting.size === 0 || isStuck())) line.release(recall.nanoUsd);
    else if (freeNanoUsd > 0n && waiting.size > 0 && !line.isFresh(LOOK_EVERY_MS)) {
      // Credit returned by others is available: requests waiting for it need not wait for their next turn.
      line.forget();
      serve();
    }
  }

  function startHold(nanoUsd: bigint): Hold {
    let amount = nanoUsd;
    let isOpen = true;
    heldNanoUsd += amount;
    holds++;

    function end(): void {
      if (!isOpen) throw new Error("a hold has ended twice");
      isOpen = false;
      heldNanoUsd -= amount;
      holds--;
      lastUsedMs = clock.nowMs();
    }

    return {
      heldNanoUsd: () => amount,
      cover(wantedNanoUsd) {
        const more = wantedNanoUsd - amount;
        if (more <= 0n) return "covered";
        // A running stream continues with the leased credit, even if the lease could not be renewed.
        if (line.leaseId !== null && line.restNanoUsd >= more) {
          amount += more;
          heldNanoUsd += more;
          line.refill();
          return "covered";
        }
        if (line.isAsking) return "asked";
        const missing = more - line.restNanoUsd;
        if (line.hasAsked(EMPTY_FOR_MS) && line.unleasedNanoUsd < missing) return "short";
        line.ask({ neededNanoUsd: missing, wantedNanoUsd: missing });
        return "asked";
      },
      settle(chargeNanoUsd) {
        end();
        line.spend(chargeNanoUsd);
        line.unheld();
        const { leaseId } = line;
        if (waiting.size > 0) serve();
        return leaseId;
      },
      release() {
        end();
        line.unheld();
        if (waiting.size > 0) serve();
      },
    };
  }

  return {
    admit,
    get heldNanoUsd() {
      return heldNanoUsd;
    },
    get holds() {
      return holds;
    },
    get leaseId() {
      return line.leaseId;
    },
    isDue: line.isDue,
    renewed: line.renewed,
    lost: line.lost,
    note,
    isIdle: (nowMs, idleMs) => holds === 0 && waiting.size === 0 && !line.isAsking && nowMs - lastUsedMs >= idleMs,
    get isSmall() {
      return line.isSmall;
    },
    trim: line.trim,
    giveBack: line.giveBack,
    async close() {
      for (const waiter of waiting) refuse(waiter, unavailable());
      await line.close();
    },
  };
}
