import { GatewayError } from "../../contract/errors.ts";
import type { LeaseBank } from "../../ledger/lease-bank.ts";
import type { HoldSize } from "./hold-size.ts";

/** Credit that one running request has reserved. It ends once: with its charge, or without one. */
export interface Hold {
  heldNanoUsd(): bigint;
  /**
   * Raises the hold to this amount where the lease covers it; else asks for more in the background.
   * "short": the account has no more, or it cannot be asked.
   */
  cover(nanoUsd: bigint): "covered" | "asked" | "short";
  /** Frees the hold and takes the charge from the lease. @returns the lease that pays; null: there is none any more. */
  settle(chargeNanoUsd: bigint): string | null;
  /** Frees the hold of a request that never ran. */
  release(): void;
}

type WalletSize = Pick<HoldSize, "fullNanoUsd" | "leastNanoUsd">;

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
  /** Nothing runs and nothing has for a while. */
  isIdle(nowMs: number, idleMs: number): boolean;
  /** Gives the lease back; what was charged to it must be settled. */
  giveBack(): Promise<void>;
  /** Asks for nothing more. Resolves when what was asked has been answered. */
  close(): Promise<void>;
}

export interface WalletDeps {
  accountId: string;
  bank: Pick<LeaseBank, "grow" | "giveBack" | "ttlMs">;
  /** Monotonic, ms: a clock that is set must not make a lease valid again. */
  clock: { nowMs(): number };
  newLeaseId(): string;
  topUpUrl: string;
  onLeaseFailed(error: unknown): void;
}

const WAIT_MS = 2_000;
const MOST_WAITING = 2_000;
/** How long "nothing is free" and "the database is away" are believed before they are asked again. */
const EMPTY_FOR_MS = 250;
const AWAY_FOR_MS = 1_000;
/** The database frees leases later than we stop to use them: both clocks may differ in speed, never by this much. */
const SKEW_MS = 2_000;

interface Lease {
  id: string;
  grantedNanoUsd: bigint;
  /** Charges taken from it, settled or on their way. */
  spentNanoUsd: bigint;
  expiresAtMs: number;
  /** What was free to use after it last grew: at half of that it grows again. */
  refilledNanoUsd: bigint;
}

/** Has the client left? An AbortSignal says it too; a whole one a request would cost more than the hold. */
export interface Departure {
  readonly aborted: boolean;
}

interface Waiter {
  size: WalletSize;
  signal: Departure;
  timer: NodeJS.Timeout;
  resolve(hold: Hold): void;
  reject(error: GatewayError): void;
}

/** What the last asking has shown. */
type Answer = { kind: "away"; atMs: number } | { kind: "grant"; atMs: number; freeNanoUsd: bigint; othersNanoUsd: bigint };

export function createWallet(deps: WalletDeps): Wallet {
  const { accountId, bank, clock } = deps;
  const waiting = new Set<Waiter>();
  let lease: Lease | undefined;
  let heldNanoUsd = 0n;
  let holds = 0;
  let answer: Answer | undefined;
  let isAsking = false;
  let asked = Promise.resolve();
  /** Of a lease that was asked for without an answer: asked for again under its id, it is there once. */
  let unansweredId: string | undefined;
  let isClosed = false;
  let lastUsedMs = clock.nowMs();

  function restNanoUsd(): bigint {
    return (lease === undefined ? 0n : lease.grantedNanoUsd - lease.spentNanoUsd) - heldNanoUsd;
  }

  function fits(nanoUsd: bigint): boolean {
    return lease !== undefined && clock.nowMs() < lease.expiresAtMs - SKEW_MS && restNanoUsd() >= nanoUsd;
  }

  function admit(size: WalletSize, signal: Departure): Hold | Promise<Hold> {
    lastUsedMs = clock.nowMs();
    if (waiting.size === 0 && fits(size.fullNanoUsd)) {
      const hold = startHold(size.fullNanoUsd);
      refill();
      return hold;
    }
    if (waiting.size >= MOST_WAITING) throw heldByOthers();
    return wait(size, signal);
  }

  async function wait(size: WalletSize, signal: Departure): Promise<Hold> {
    const { promise, resolve, reject } = Promise.withResolvers<Hold>();
    const timer = setTimeout(() => refuse(waiter, isKnown() ? heldByOthers() : unavailable()), WAIT_MS);
    const waiter: Waiter = { size, signal, timer, resolve, reject };
    waiting.add(waiter);
    serve();
    return promise;
  }

  /** In turn: a large request at the head is not passed by small ones for ever. */
  function serve(): void {
    for (const waiter of waiting) {
      if (waiter.signal.aborted) refuse(waiter, unavailable());
      else if (fits(waiter.size.fullNanoUsd)) accept(waiter, waiter.size.fullNanoUsd);
      else if (!settleFate(waiter)) return;
    }
  }

  /** Of a waiter whose hold does not fit. @returns false while it goes on waiting. */
  function settleFate(waiter: Waiter): boolean {
    const { fullNanoUsd, leastNanoUsd } = waiter.size;
    if (isAsking) return false;
    const nowMs = clock.nowMs();
    // The lease is in force and other requests of this process will free enough.
    const isHeldHere = lease !== undefined && nowMs < lease.expiresAtMs - SKEW_MS && restNanoUsd() + heldNanoUsd >= fullNanoUsd;
    if (answer?.kind === "away" && nowMs - answer.atMs < AWAY_FOR_MS) {
      if (isHeldHere) return false;
      refuse(waiter, unavailable());
      return true;
    }
    if (answer?.kind !== "grant" || answer.freeNanoUsd > 0n || nowMs - answer.atMs >= EMPTY_FOR_MS) {
      ask(fullNanoUsd - restNanoUsd());
      return false;
    }
    if (isHeldHere) return false;
    if (restNanoUsd() + heldNanoUsd + answer.othersNanoUsd >= fullNanoUsd) {
      // Others may give some back: asked again soon.
      setTimeout(serve, EMPTY_FOR_MS).unref();
      return false;
    }
    // The account cannot pay for all that it may produce. A stream begins on what there is and is stopped where that ends.
    const canBegin = leastNanoUsd < fullNanoUsd && fits(leastNanoUsd);
    if (canBegin) accept(waiter, restNanoUsd());
    else refuse(waiter, short());
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
    ask(0n);
  }

  function ask(wantedNanoUsd: bigint): void {
    if (!isClosed) asked = grow(wantedNanoUsd);
  }

  /** Never rejects: what fails is told to the waiting. */
  async function grow(wantedNanoUsd: bigint): Promise<void> {
    isAsking = true;
    const sentMs = clock.nowMs();
    const before = lease;
    const leaseId = before?.id ?? (unansweredId ??= deps.newLeaseId());
    try {
      const grant = await bank.grow({ leaseId, accountId, wantedNanoUsd: wantedNanoUsd > 0n ? wantedNanoUsd : 0n });
      const atMs = clock.nowMs();
      answer = { kind: "grant", atMs, freeNanoUsd: grant.freeNanoUsd, othersNanoUsd: grant.leasedByOthersNanoUsd };
      unansweredId = undefined;
      if (!grant.isOpen || lease !== before) {
        // The lease was taken from us, before or while it grew: another one is asked for at once.
        if (before !== undefined) answer = undefined;
        lease = undefined;
      } else {
        lease = before ?? { id: leaseId, grantedNanoUsd: 0n, spentNanoUsd: 0n, expiresAtMs: 0, refilledNanoUsd: 0n };
        lease.grantedNanoUsd = grant.grantedNanoUsd;
        if (grant.addedNanoUsd > 0n) lease.expiresAtMs = sentMs + bank.ttlMs;
        lease.refilledNanoUsd = restNanoUsd();
      }
    } catch (error) {
      answer = { kind: "away", atMs: clock.nowMs() };
      deps.onLeaseFailed(error);
    } finally {
      isAsking = false;
    }
    serve();
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
        // A stream that runs goes on with what was leased, also when the lease could not be renewed.
        if (lease !== undefined && restNanoUsd() >= more) {
          amount += more;
          heldNanoUsd += more;
          refill();
          return "covered";
        }
        if (isAsking) return "asked";
        const isFresh = answer !== undefined && clock.nowMs() - answer.atMs < EMPTY_FOR_MS;
        if (isFresh && (answer?.kind === "away" || answer?.freeNanoUsd === 0n)) return "short";
        ask(more - restNanoUsd());
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

  /** Has the database said lately what the account has? */
  function isKnown(): boolean {
    return !isAsking && answer?.kind === "grant";
  }

  function short(): GatewayError {
    return new GatewayError(
      "insufficient_balance",
      `Insufficient balance: this account's credit does not cover what the request may cost. Set a lower limit of output tokens, or add credit at ${deps.topUpUrl}.`,
      { headers: { "x-should-retry": "false" } },
    );
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
    lost() {
      lease = undefined;
      answer = undefined;
      if (waiting.size > 0) serve();
    },
    isIdle: (nowMs, idleMs) => holds === 0 && waiting.size === 0 && !isAsking && nowMs - lastUsedMs >= idleMs,
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
        // Perhaps it has ended, perhaps not: kept, but of no use until the database has said so.
        if (given !== undefined && lease === undefined && !isAsking) lease = { ...given, expiresAtMs: 0 };
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

function heldByOthers(): GatewayError {
  return new GatewayError(
    "insufficient_balance",
    "Insufficient balance for one more request right now: this account's credit is held by requests that are running. Try again when they have ended.",
    { headers: { "retry-after": "2" } },
  );
}

function unavailable(): GatewayError {
  return new GatewayError("billing_unavailable", "The balance cannot be read right now. Try again in a few seconds.", {
    headers: { "retry-after": "5" },
  });
}
