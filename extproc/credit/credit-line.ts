import { LeasesKeptError } from "../../ledger/leases/leases.ts";
import { largest, smallest } from "../../ledger/money.ts";
import type { Amounts, Answer, Lease, WalletDeps } from "./wallet-state.ts";

/** What one process may spend of an account's credit: one lease, and what the database last said of the rest. */
export interface CreditLine {
  /** The lease, for whoever renews it or charges it. */
  readonly leaseId: string | null;
  readonly isInForce: boolean;
  /** Of the lease, neither spent nor held, nor to be given up because the account does not have it. */
  readonly restNanoUsd: bigint;
  /** What the database last said that nobody has leased; nothing where it has said nothing. */
  readonly unleasedNanoUsd: bigint;
  /** All that may become free. More may be leased than there is, where credit was taken away. */
  readonly totalNanoUsd: bigint;
  readonly isAsking: boolean;
  /** The database could not be asked a moment ago: it is not asked again. */
  readonly isAway: boolean;
  /** Whether the last asking ended less than so long ago, in whichever way. */
  hasAsked(withinMs: number): boolean;
  /** Whether the database has said how much there is, less than so long ago. */
  isFresh(forMs: number): boolean;
  /** Whether it was last asked before this, for less than there was: it may have more by now. */
  isOutdated(sinceMs: number): boolean;
  /** What the database said is no longer true. */
  forget(): void;
  /** In the background. */
  ask(amounts: Amounts): void;
  /** Asks for more once half of what was there after the last growth is used. */
  refill(): void;
  spend(nanoUsd: bigint): void;
  /** When it needs a renewal soon. */
  isDue(nowMs: number): boolean;
  renewed(sentMs: number): void;
  lost(): void;
  /** The credit that nobody has leased, as the feed says. Below zero, more is leased than there is: that much is given up. */
  hear(freeNanoUsd: bigint): void;
  /** Held credit has become unheld: it is given up, too, as far as more is leased than there is. */
  unheld(): void;
  /** Gives up unheld credit that others need, at most so much. */
  release(nanoUsd: bigint): void;
  /** Its unheld credit is a small part of what the account's other processes can still lease. */
  readonly isSmall: boolean;
  /** Gives back all but a small part. @returns false if that would be too little to keep. */
  trim(): Promise<boolean>;
  /** Gives the lease back; what was charged to it must be settled. */
  giveBack(): Promise<void>;
  /** Asks for nothing more. Resolves when what was asked has been answered. */
  close(): Promise<void>;
}

export interface CreditLineDeps extends Pick<
  WalletDeps,
  "accountId" | "bank" | "clock" | "newLeaseId" | "onLeased" | "onLeaseFailed"
> {
  /** The sum of the holds on the lease. */
  heldNanoUsd(): bigint;
  /** More or less may be there than before. */
  onChanged(): void;
}

/** How long "the database is away" is believed before it is asked again. */
const AWAY_FOR_MS = 1_000;
/** Sixteen idle leases of an account leave more than a third of its credit to lease. */
const SMALL_PART = 16n;
/** The database frees leases later than we stop to use them: both clocks may differ in speed, never by this much. */
const SKEW_MS = 2_000;

export function createCreditLine({ accountId, bank, clock, heldNanoUsd, onChanged, ...deps }: CreditLineDeps): CreditLine {
  let lease: Lease | undefined;
  let answer: Answer | undefined;
  /** Of the account, not leased by anybody, as last heard. */
  let freeNanoUsd = 0n;
  /** The same, if the feed said so while the lease was to grow: what that finds may be older. */
  let heardNanoUsd: bigint | undefined;
  let isAsking = false;
  let asked = Promise.resolve();
  /** Of a lease that was asked for without an answer: asked for again under its id, it is there once. */
  let unansweredId: string | undefined;
  /** To be given up once an asking that is on its way has been answered. */
  let owedNanoUsd = 0n;
  /** Could not be given back while another one was asked for: in use again if that fails. */
  let kept: Lease | undefined;
  let isClosed = false;

  function restNanoUsd(): bigint {
    return (lease === undefined ? 0n : lease.grantedNanoUsd - lease.spentNanoUsd) - heldNanoUsd();
  }

  /** Leased of the account, by this process or others, although there is not so much. */
  function missingNanoUsd(): bigint {
    return largest(0n, -freeNanoUsd);
  }

  function isInForce(): boolean {
    return lease !== undefined && clock.nowMs() < lease.expiresAtMs - SKEW_MS;
  }

  /** A lease that could not be returned. Requests that came meanwhile may be requesting another one. */
  function keep(given: Lease): void {
    if (lease !== undefined) return;
    if (isAsking) kept = given;
    else {
      lease = given;
      onChanged();
    }
  }

  function ask(amounts: Amounts): void {
    if (!isClosed) asked = grow(amounts);
  }

  /** Never rejects: those that wait learn of a failure. */
  async function grow({ neededNanoUsd, wantedNanoUsd }: Amounts): Promise<void> {
    isAsking = true;
    heardNanoUsd = undefined;
    const sentMs = clock.nowMs();
    const before = lease;
    const leaseId = before?.id ?? (unansweredId ??= deps.newLeaseId());
    try {
      const grant = await bank.grow({
        leaseId,
        accountId,
        isNew: before === undefined,
        neededNanoUsd: neededNanoUsd > 0n ? neededNanoUsd : 0n,
        wantedNanoUsd: wantedNanoUsd > 0n ? wantedNanoUsd : 0n,
      });
      deps.onLeased();
      const atMs = clock.nowMs();
      // The lower one: what is given up in vain is there for the next request.
      freeNanoUsd = smallest(grant.freeNanoUsd, heardNanoUsd ?? grant.freeNanoUsd);
      const isEnough = grant.addedNanoUsd >= neededNanoUsd;
      const { freeNanoUsd: foundNanoUsd, leasedByOthersNanoUsd: othersNanoUsd } = grant;
      answer = { kind: "grant", atMs, sentMs, isEnough, freeNanoUsd: foundNanoUsd, othersNanoUsd };
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
    releaseUnheld(largest(owedNanoUsd, missingNanoUsd()));
    onChanged();
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
    if (owedNanoUsd > 0n) release(owedNanoUsd);
    onChanged();
  }

  /** What the database still counts as leased can be returned only once it is known here. */
  function release(nanoUsd: bigint): void {
    if (lease?.isUncertain !== true || isAsking || isClosed) {
      releaseUnheld(nanoUsd);
      return;
    }
    owedNanoUsd = nanoUsd;
    ask({ neededNanoUsd: 0n, wantedNanoUsd: 0n });
  }

  function releaseMissing(): void {
    if (missingNanoUsd() > 0n) release(missingNanoUsd());
  }

  return {
    get leaseId() {
      return lease?.id ?? null;
    },
    get isInForce() {
      return isInForce();
    },
    get restNanoUsd() {
      return restNanoUsd() - missingNanoUsd();
    },
    get unleasedNanoUsd() {
      return answer?.kind === "grant" && answer.freeNanoUsd > 0n ? answer.freeNanoUsd : 0n;
    },
    get totalNanoUsd() {
      const known = answer?.kind === "grant" ? answer.freeNanoUsd + answer.othersNanoUsd : 0n;
      return restNanoUsd() + heldNanoUsd() + known;
    },
    get isAsking() {
      return isAsking;
    },
    get isAway() {
      return answer?.kind === "away" && clock.nowMs() - answer.atMs < AWAY_FOR_MS;
    },
    hasAsked: (withinMs) => answer !== undefined && clock.nowMs() - answer.atMs < withinMs,
    isFresh: (forMs) => answer?.kind === "grant" && clock.nowMs() - answer.atMs < forMs,
    isOutdated: (sinceMs) => answer?.kind === "grant" && answer.isEnough && answer.sentMs < sinceMs,
    forget() {
      if (answer?.kind === "grant") answer = undefined;
    },
    ask,
    refill() {
      if (lease === undefined || isAsking || restNanoUsd() * 2n >= lease.refilledNanoUsd) return;
      const pauseMs = answer?.kind === "grant" && answer.freeNanoUsd > 0n ? 0 : AWAY_FOR_MS;
      if (answer !== undefined && clock.nowMs() - answer.atMs < pauseMs) return;
      ask({ neededNanoUsd: 0n, wantedNanoUsd: 0n });
    },
    spend(nanoUsd) {
      if (lease !== undefined) lease.spentNanoUsd += nanoUsd;
    },
    isDue: (nowMs) => lease !== undefined && lease.expiresAtMs - nowMs < (bank.ttlMs * 2) / 3,
    renewed(sentMs) {
      if (lease !== undefined) lease.expiresAtMs = Math.max(lease.expiresAtMs, sentMs + bank.ttlMs);
    },
    lost() {
      lease = undefined;
      answer = undefined;
      onChanged();
    },
    hear(free) {
      freeNanoUsd = free;
      if (isAsking) heardNanoUsd = free;
      releaseMissing();
    },
    unheld: releaseMissing,
    release,
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
      await asked;
    },
  };
}
