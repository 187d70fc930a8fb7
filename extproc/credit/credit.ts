import { setTimeout as sleep } from "node:timers/promises";
import { GatewayError } from "../../contract/errors.ts";
import type { LeaseBank } from "../../ledger/leases/lease-bank.ts";
import type { AccountRow } from "../../ledger/feed/rows.ts";
import type { WorldAccount } from "../world/world.ts";
import type { WalletSize } from "./hold-share.ts";
import type { Departure, Hold } from "./hold.ts";
import { createWallet, type Wallet } from "./wallet.ts";
import { backOffMs } from "../../runtime/wait.ts";

/** Decides from memory whether an account can pay for one more request (S6, S19, S30). */
export interface Credit {
  /**
   * Before the body is read.
   * @throws GatewayError `insufficient_balance` if the balance is known to be used up; `billing_unavailable` if settlement is so
   * far behind that nothing more may be used.
   */
  check(account: WorldAccount): void;
  /**
   * Reserves the possible cost of a request: at once if this process has leased enough of the account's credit, otherwise after a
   * database query of at most 2 s.
   * @throws GatewayError (or rejects with one) `insufficient_balance`; `billing_unavailable` if the credit is unknown.
   */
  admit(account: Pick<WorldAccount, "accountId">, size: WalletSize, signal: Departure): Hold | Promise<Hold>;
  /** Nano-USD left: the posted balance minus unsettled usage and running requests' holds. */
  availableNanoUsd(account: WorldAccount): bigint;
  /** Held by this process's running requests, nano-USD; of all accounts if none is given. */
  heldNanoUsd(accountId?: string): bigint;
  readonly openHolds: number;
  /** Accounts whose credit has changed, according to the feed. */
  note(accounts: readonly Pick<AccountRow, "accountId" | "leasing">[]): void;
  /** Renews leases in use and returns unused ones. */
  keepLeases(): Promise<void>;
  /** Returns every lease whose charges are settled; nothing is admitted afterwards. */
  close(): Promise<void>;
}

export interface CreditDeps {
  bank: LeaseBank;
  /** An account's charges that await settlement, nano-USD. */
  pendingNanoUsd(accountId: string): bigint;
  /** Too many settlements wait for the database. */
  isSettlingBehind(): boolean;
  /** Monotonic, ms. */
  clock: { nowMs(): number };
  newLeaseId(): string;
  /** The page for adding credit; part of the refusal's text. */
  topUpUrl: string;
  /** The ledger has answered, whether or not there was credit. */
  onLeased(): void;
  onLeaseFailed(error: unknown): void;
  /**
   * Of a lease that was unused for this long, all but a small part is returned, at intervals of the same length: one transaction
   * for many accounts costs little more than one for a single account.
   */
  idleMs?: number;
  /** The rest is returned after this time: until then its account finds it when it comes again, and others do not miss it. */
  smallIdleMs?: number;
  /** How long a request waits for its lease. */
  waitMs?: number;
}

/** Idle leases beyond this number are returned even if they are small: each one takes memory and is renewed. */
const MAX_IDLE_LEASES = 5_000;
const RENEWED_AHEAD_MS = 15_000;
const MAX_CLOSING_ATTEMPTS = 5;
const CLOSING_RETRY = { firstMs: 100, maxMs: 1_000 };

export function createCredit(deps: CreditDeps): Credit {
  const { bank, clock, pendingNanoUsd, idleMs = 10_000, smallIdleMs = 300_000 } = deps;
  const wallets = new Map<string, Wallet>();
  let nextReturnMs = -Infinity;
  let isClosed = false;

  function walletOf(accountId: string): Wallet {
    const known = wallets.get(accountId);
    if (known !== undefined) return known;
    const wallet = createWallet({ ...deps, accountId });
    wallets.set(accountId, wallet);
    return wallet;
  }

  const heldNanoUsd = (accountId?: string) =>
    accountId === undefined
      ? wallets.values().reduce((sum, wallet) => sum + wallet.heldNanoUsd, 0n)
      : (wallets.get(accountId)?.heldNanoUsd ?? 0n);
  const usedNanoUsd = (account: WorldAccount) => account.postedNanoUsd - pendingNanoUsd(account.accountId);

  /** Wallets of accounts that do not come any more, or whose lease is larger than an idle one may be. */
  function unneeded(nowMs: number): Map<string, Wallet> {
    const idle = [...wallets].filter(([, wallet]) => wallet.isIdle(nowMs, idleMs));
    const kept = idle.filter(([, wallet]) => wallet.isSmall && !wallet.isIdle(nowMs, smallIdleMs)).slice(-MAX_IDLE_LEASES);
    const others = new Map(idle);
    for (const [accountId] of kept) others.delete(accountId);
    return others;
  }

  async function renew(): Promise<void> {
    const nowMs = clock.nowMs();
    const ending = unneeded(nowMs);
    const needed = [...wallets].filter(([accountId]) => !ending.has(accountId)).map(([, wallet]) => wallet);
    if (!needed.some((wallet) => wallet.isDue(nowMs))) return;
    // One statement for many costs little more than one for a few: those that are due soon are renewed as well.
    const due = new Map(needed.filter((wallet) => wallet.isDue(nowMs + RENEWED_AHEAD_MS)).map((each) => [each, each.leaseId]));
    const inForce = await bank.renew([...due.values()].filter((id) => id !== null));
    for (const [wallet, leaseId] of due) {
      if (leaseId === null || wallet.leaseId !== leaseId) continue;
      const renewal = inForce.get(leaseId);
      if (renewal === "renewed") wallet.renewed(nowMs);
      else if (renewal === undefined) wallet.lost();
    }
  }

  async function giveBackIdle(): Promise<void> {
    const nowMs = clock.nowMs();
    if (nowMs < nextReturnMs) return;
    nextReturnMs = nowMs + idleMs;
    // The lease pays for charges in flight: returned earlier, its credit would be leased again meanwhile.
    const idle = [...unneeded(nowMs)].filter(([accountId]) => pendingNanoUsd(accountId) === 0n);
    const results = await Promise.allSettled(
      idle.map(async ([, wallet]) => {
        if (wallet.isSmall || !(await wallet.trim())) await wallet.giveBack();
      }),
    );
    for (const [accountId, wallet] of idle)
      if (wallet.leaseId === null && wallet.isIdle(clock.nowMs(), idleMs)) wallets.delete(accountId);
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** The first statement after a restart of the database often finds a dead connection: that must not keep credit leased. */
  async function giveBackAll(): Promise<void> {
    for (let attempts = 1; attempts <= MAX_CLOSING_ATTEMPTS; attempts++) {
      try {
        return await bank.giveBackAll();
      } catch (error) {
        deps.onLeaseFailed(error);
        await sleep(backOffMs(CLOSING_RETRY, attempts, Math.random()));
      }
    }
  }

  return {
    heldNanoUsd,
    availableNanoUsd: (account) => usedNanoUsd(account) - heldNanoUsd(account.accountId),
    check(account) {
      if (deps.isSettlingBehind())
        throw new GatewayError("billing_unavailable", "Usage cannot be recorded right now. Try again in a few seconds.", {
          headers: { "retry-after": "5" },
        });
      if (usedNanoUsd(account) + account.overdraftNanoUsd > 0n) return;
      throw new GatewayError(
        "insufficient_balance",
        `Insufficient balance: this account has no credit left. Add credit at ${deps.topUpUrl}.`,
      );
    },
    admit(account, size, signal) {
      if (isClosed) throw new GatewayError("overloaded", "The gateway is shutting down.", { headers: { "retry-after": "1" } });
      return walletOf(account.accountId).admit(size, signal);
    },
    get openHolds() {
      return wallets.values().reduce((sum, wallet) => sum + wallet.holds, 0);
    },
    note(accounts) {
      for (const { accountId, leasing } of accounts) if (leasing !== undefined) wallets.get(accountId)?.note(leasing);
    },
    async keepLeases() {
      await renew();
      await giveBackIdle();
    },
    async close() {
      isClosed = true;
      await Promise.all(wallets.values().map((wallet) => wallet.close()));
      // A charge in flight is paid by its lease, which then ends with the recovery of this process's journal.
      const isSettled = wallets.keys().every((accountId) => pendingNanoUsd(accountId) === 0n);
      wallets.clear();
      if (isSettled) await giveBackAll();
    },
  };
}
