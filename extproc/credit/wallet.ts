import type { GatewayError } from "../../contract/errors.ts";
import type { Leasing } from "../../ledger/feed/rows.ts";
import { LeasesKeptError } from "../../ledger/leases/leases.ts";
import { heldByOthers, short, unavailable } from "./credit-refusal.ts";
import { shareOf, type WalletSize } from "./hold-share.ts";
import type { Departure, Hold } from "./hold.ts";
import type { Amounts, Answer, Lease, Waiter, WalletDeps } from "./wallet-state.ts";

/** One account's credit in this process: one lease, and the holds on it. The sum of holds never passes what is left. */
export interface Wallet {
  /** At once where the lease covers it; else it waits in turn, at most `WAIT_MS`. Rejects with a GatewayError. */
  admit(size: WalletSize, signal: Departure): Hold | Promise<Hold>;
  readonly heldNanoUsd: bigint;
  readonly holds: number;
  /** The lease, for whoever renews it. */
  readonly leaseId: string | null;
  /** When it needs a renewal soon. */
  isDue(nowMs: number): boolean;
  renewed(sentMs: number): void;
  lost(): void;
  /** The account's credit has changed: gives up what is no longer there, or what others need and nothing uses here. */
  note(leasing: Leasing): void;
  /** Nothing runs and nothing has for a while. */
  isIdle(nowMs: number, idleMs: number): boolean;
  /** Its unheld credit is a small part of what the account's other processes can still lease. */
  readonly isSmall: boolean;
  /** Gives back all but a small part. @returns false if that would be too little to keep. */
  trim(): Promise<boolean>;
  /** Gives the lease back; what was charged to it must be settled. */
  giveBack(): Promise<void>;
  /** Asks for nothing more. Resolves when what was asked has been answered. */
  close(): Promise<void>;
}

const WAIT_MS = 2_000;
const MAX_WAITING = 2_000;
/** How long "nothing is free" and "the database is away" are believed before they are asked again. */
const EMPTY_FOR_MS = 250;
const AWAY_FOR_MS = 1_000;
/** Under constant settling an account's row changes many times a second: so often those that wait look at it. */
const LOOK_EVERY_MS = 50;
/** Sixteen idle leases of an account leave more than a third of its credit to lease. */
const SMALL_PART = 16n;
/** The database frees leases later than we stop to use them: both clocks may differ in speed, never by this much. */
const SKEW_MS = 2_000;

export function createWallet(deps: WalletDeps): Wallet {
  const { accountId, bank, clock, waitMs = WAIT_MS } = deps;
  const waiting = new Set<Waiter>();
  let lease: Lease | undefined;
  let heldNanoUsd = 0n;
  let holds = 0;
  let answer: Answer | undefined;
  /** Of the account, not leased by anybody, as last heard. */
  let freeNanoUsd = 0n;
  let isAsking = false;
  /** Of those that wait. */
  let retry: NodeJS.Timeout | undefined;
  let asked = Promise.resolve();
  /** Of a lease that was asked for without an answer: asked for again under its id, it is there once. */
  let unansweredId: string | undefined;
  /** To be given up once an asking that is on its way has been answered. */
  let owedNanoUsd = 0n;
  /** Could not be given back while another one was asked for: in use again if that fails. */
  let kept: Lease | undefined;
  let recalledMs = -Infinity;
  let isClosed = false;
  let lastUsedMs = clock.nowMs();

  function restNanoUsd(): bigint {
    return (lease === undefined ? 0n : lease.grantedNanoUsd - lease.spentNanoUsd) - heldNanoUsd;
  }

  function isInForce(): boolean {
    return lease !== undefined && clock.nowMs() < lease.expiresAtMs - SKEW_MS;
  }

  /** What the database last said that nobody has leased; nothing where it has said nothing. */
  function unleasedNanoUsd(): bigint {
    return answer?.kind === "grant" && answer.freeNanoUsd > 0n ? answer.freeNanoUsd : 0n;
  }

  /** All that may become free. More may be leased than there is, where credit was taken away. */
  function totalNanoUsd(): bigint {
    const known = answer?.kind === "grant" ? answer.freeNanoUsd + answer.othersNanoUsd : 0n;
    return restNanoUsd() + heldNanoUsd + known;
  }

  /** How much a request is to hold. Until the database has said that it is too much, a client's own limit is held in full. */
  function amountFor(size: WalletSize): bigint {
    const total = isFresh(EMPTY_FOR_MS) ? totalNanoUsd() : size.fullNanoUsd;
    return shareOf(size, { freeNanoUsd: restNanoUsd() + unleasedNanoUsd(), totalNanoUsd: total, holds });
  }

  function isFresh(forMs: number): boolean {
    return answer?.kind === "grant" && clock.nowMs() - answer.atMs < forMs;
  }

  function admit(size: WalletSize, signal: Departure): Hold | Promise<Hold> {
    lastUsedMs = clock.nowMs();
    if (waiting.size === 0 && isInForce()) {
      const amount = amountFor(size);
      if (restNanoUsd() >= amount) {
        const hold = startHold(amount);
        refill();
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
    if (!beginOnLess(waiter)) refuse(waiter, isFresh(WAIT_MS) ? heldByOthers() : unavailable());
  }

  /** In turn: a large request at the head is not passed by small ones for ever. */
  function serve(): void {
    for (const waiter of waiting) {
      const amount = amountFor(waiter.size);
      if (waiter.signal.aborted) refuse(waiter, unavailable());
      else if (isInForce() && restNanoUsd() >= amount) accept(waiter, amount);
      else if (!handleShortfall(waiter, amount)) return;
    }
  }

  /** Of a waiter whose hold does not fit. @returns false while it goes on waiting. */
  function handleShortfall(waiter: Waiter, amount: bigint): boolean {
    if (isAsking) return false;
    const { minNanoUsd, isOpen } = waiter.size;
    const nowMs = clock.nowMs();
    if (answer?.kind === "away" && nowMs - answer.atMs < AWAY_FOR_MS) {
      // The lease is in force and other requests of this process will free enough.
      if (isInForce() && restNanoUsd() + heldNanoUsd >= amount) return false;
      if (!isOpen || !beginOnLess(waiter)) refuse(waiter, unavailable());
      return true;
    }
    const neededNanoUsd = (isOpen ? minNanoUsd : amount) - restNanoUsd();
    const unleased = unleasedNanoUsd();
    if (!isFresh(EMPTY_FOR_MS) || (unleased > 0n && unleased >= neededNanoUsd)) {
      ask({ neededNanoUsd, wantedNanoUsd: amount - restNanoUsd() });
      return false;
    }
    const total = totalNanoUsd();
    if (total < minNanoUsd) {
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
    const rest = restNanoUsd();
    if (!isInForce() || rest < waiter.size.minNanoUsd) return false;
    accept(waiter, shareOf(waiter.size, { freeNanoUsd: rest, totalNanoUsd: rest, holds }));
    return true;
  }

  function accept(waiter: Waiter, nanoUsd: bigint): void {
    waiting.delete(waiter);
    clearTimeout(waiter.timer);
    waiter.resolve(startHold(nanoUsd));
    refill();
  }

  function refuse(waiter: Waiter, error: GatewayError): void {
    waiting.delete(waiter);
    clearTimeout(waiter.timer);
    waiter.reject(error);
  }

  function refill(): void {
    if (lease === undefined || isAsking || restNanoUsd() * 2n >= lease.refilledNanoUsd) return;
    const nowMs = clock.nowMs();
    const pauseMs = answer?.kind === "grant" && answer.freeNanoUsd > 0n ? 0 : AWAY_FOR_MS;
    if (answer !== undefined && nowMs - answer.atMs < pauseMs) return;
    ask({ neededNanoUsd: 0n, wantedNanoUsd: 0n });
  }

  /** A lease that could not be returned. Requests that came meanwhile may be requesting another one. */
  function keep(given: Lease): void {
    if (lease !== undefined) return;
    if (isAsking) kept = given;
    else {
      lease = given;
      if (waiting.size > 0) serve();
    }
  }

  function ask(amounts: Amounts): void {
    if (!isClosed) asked = grow(amounts);
  }

  /** Never rejects: failures are passed to the waiting requests. */
  async function grow({ neededNanoUsd, wantedNanoUsd }: Amounts): Promise<void> {
    isAsking = true;
    const sentMs = clock.nowMs();
    const before = lease;
    const leaseId = before?.id ?? (unansweredId ??= deps.newLeaseId());
    try {
      const grant = await bank.grow({
        leaseId,
        accountId,
        neededNanoUsd: neededNanoUsd > 0n ? neededNanoUsd : 0n,
        wantedNanoUsd: wantedNanoUsd > 0n ? wantedNanoUsd : 0n,
      });
      deps.onLeased();
      const atMs = clock.nowMs();
      ({ freeNanoUsd } = grant);
      answer = { kind: "grant", atMs, freeNanoUsd, othersNanoUsd: grant.leasedByOthersNanoUsd };
      unansweredId = undefined;
      if (!grant.isOpen || lease !== before) {
        // The lease was taken from us, before or while it grew: another one is requested at once.
        if (before !== undefined) answer = undefined;
        lease = undefined;
      } else {
        lease = before ?? {
          id: leaseId,
          grantedNanoUsd: 0n,
          spentNanoUsd: 0n,
          expiresAtMs: 0,
          refilledNanoUsd: 0n,
          isUncertain: false,
        };
        lease.grantedNanoUsd = grant.grantedNanoUsd;
        lease.isUncertain = false;
        if (grant.addedNanoUsd > 0n) lease.expiresAtMs = sentMs + bank.ttlMs;
        lease.refilledNanoUsd = restNanoUsd();
        // What it took without a request that needs it was taken from those to whom it is to be given up.
        if (neededNanoUsd <= 0n && owedNanoUsd > 0n) owedNanoUsd += grant.addedNanoUsd;
      }
    } catch (error) {
      answer = { kind: "away", atMs: clock.nowMs() };
      deps.onLeaseFailed(error);
      lease ??= kept;
    } finally {
      isAsking = false;
      kept = undefined;
    }
    releaseUnheld(owedNanoUsd);
    serve();
  }

  /** For unheld credit: from here on nothing is admitted against it. */
  function releaseUnheld(nanoUsd: bigint): void {
    if (isAsking) owedNanoUsd = nanoUsd > owedNanoUsd ? nanoUsd : owedNanoUsd;
    else owedNanoUsd = 0n;
    if (isAsking || isClosed || lease === undefined) return;
    const rest = restNanoUsd();
    const part = nanoUsd < rest ? nanoUsd : rest;
    if (part <= 0n) return;
    lease.grantedNanoUsd -= part;
    lease.refilledNanoUsd = restNanoUsd();
    // It is available to the next request, as well as to those it is given up for.
    freeNanoUsd += part;
    if (answer?.kind === "grant") answer = { ...answer, freeNanoUsd: answer.freeNanoUsd + part };
    asked = shrink(lease, part);
  }

  /** Never rejects. If its outcome is unknown, the next growth returns the lease's state. */
  async function shrink(shrunk: Lease, nanoUsd: bigint): Promise<void> {
    isAsking = true;
    try {
      await bank.shrink({ leaseId: shrunk.id, accountId, nanoUsd });
    } catch (error) {
      shrunk.isUncertain = true;
      deps.onLeaseFailed(error);
    } finally {
      isAsking = false;
    }
    if (owedNanoUsd > 0n) releaseCertain(owedNanoUsd);
    serve();
  }

  /** For credit that others need: what the database still counts as leased can be returned only once it is known here. */
  function releaseCertain(nanoUsd: bigint): void {
    if (lease?.isUncertain !== true || isAsking || isClosed) {
      releaseUnheld(nanoUsd);
      return;
    }
    owedNanoUsd = nanoUsd;
    ask({ neededNanoUsd: 0n, wantedNanoUsd: 0n });
  }

  /**
   * The first of those that wait cannot begin on what is left here, and has asked in vain: where several processes wait, each would
   * keep what the others lack.
   */
  function isStuck(): boolean {
    const [first] = waiting;
    if (first === undefined || isAsking || restNanoUsd() >= first.size.minNanoUsd) return false;
    return clock.nowMs() - first.sinceMs >= EMPTY_FOR_MS;
  }

  function note({ freeNanoUsd: free, recall }: Leasing): void {
    freeNanoUsd = free;
    // Not by order: the clock of a new primary may be behind that of the last one.
    const isNewRecall = recall !== null && recall.atMs !== recalledMs;
    if (isNewRecall) recalledMs = recall.atMs;
    if (free < 0n) releaseCertain(-free);
    else if (isNewRecall && (waiting.size === 0 || isStuck())) releaseCertain(recall.nanoUsd);
    else if (free > 0n && waiting.size > 0 && !isFresh(LOOK_EVERY_MS)) {
      // Credit returned by others is available: requests waiting for it need not wait for their next turn.
      if (answer?.kind === "grant") answer = undefined;
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
        if (lease !== undefined && restNanoUsd() >= more) {
          amount += more;
          heldNanoUsd += more;
          refill();
          return "covered";
        }
        if (isAsking) return "asked";
        const missing = more - restNanoUsd();
        const isRecent = answer !== undefined && clock.nowMs() - answer.atMs < EMPTY_FOR_MS;
        if (isRecent && unleasedNanoUsd() < missing) return "short";
        ask({ neededNanoUsd: missing, wantedNanoUsd: missing });
        return "asked";
      },
      settle(chargeNanoUsd) {
        end();
        if (lease !== undefined) lease.spentNanoUsd += chargeNanoUsd;
        const leaseId = lease?.id ?? null;
        if (waiting.size > 0) serve();
        return leaseId;
      },
      release() {
        end();
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
      return lease?.id ?? null;
    },
    isDue: (nowMs) => lease !== undefined && lease.expiresAtMs - nowMs < (bank.ttlMs * 2) / 3,
    renewed(sentMs) {
      if (lease !== undefined) lease.expiresAtMs = Math.max(lease.expiresAtMs, sentMs + bank.ttlMs);
    },
    note,
    lost() {
      lease = undefined;
      answer = undefined;
      if (waiting.size > 0) serve();
    },
    isIdle: (nowMs, idleMs) => holds === 0 && waiting.size === 0 && !isAsking && nowMs - lastUsedMs >= idleMs,
    get isSmall() {
      const rest = restNanoUsd();
      return lease?.isUncertain === false && rest > 0n && rest * SMALL_PART <= freeNanoUsd;
    },
    async trim() {
      const rest = restNanoUsd();
      const part = (rest + freeNanoUsd) / (SMALL_PART + 1n);
      if (!isInForce() || isAsking || lease?.isUncertain !== false || part < bank.minNanoUsd || part >= rest) return false;
      releaseUnheld(rest - part);
      await asked;
      return true;
    },
    async giveBack() {
      const given = lease;
      const leaseId = given?.id ?? unansweredId;
      if (leaseId === undefined || isAsking) return;
      // From here on nothing is admitted against it.
      lease = undefined;
      unansweredId = undefined;
      answer = undefined;
      try {
        await bank.giveBack({ leaseId, accountId });
      } catch (error) {
        // It may have ended: then it is kept, but unusable until the database has confirmed it.
        if (given !== undefined) keep(error instanceof LeasesKeptError ? given : { ...given, expiresAtMs: 0 });
        throw error;
      }
    },
    async close() {
      isClosed = true;
      for (const waiter of waiting) refuse(waiter, unavailable());
      await asked;
    },
  };
}
