import type { SettledBalance } from "../../ledger/settlement/settled-balances.ts";
import { inTime } from "../../runtime/wait.ts";

/**
 * Reads balances for those who ask for them: other processes settle, too, and the feed leaves out what leases pay
 * (docs/decisions/0093). One reading runs at a time, for all accounts that were asked for since the last one began: a flood costs no
 * more than one connection.
 */
export interface CurrentBalances {
  /** Never rejects: while the ledger cannot be read, what is known has to do. */
  refresh(accountId: string): Promise<void>;
}

export interface CurrentBalancesDeps {
  read(accountIds: readonly string[]): Promise<ReadonlyMap<string, SettledBalance>>;
  apply(balances: ReadonlyMap<string, SettledBalance>): void;
  withinMs?: number;
}

const WITHIN_MS = 1_000;

export function createCurrentBalances({ read, apply, withinMs = WITHIN_MS }: CurrentBalancesDeps): CurrentBalances {
  let next: { accountIds: Set<string>; done: Promise<void> } | null = null;
  let last = Promise.resolve();

  async function readNext(accountIds: ReadonlySet<string>): Promise<void> {
    next = null;
    try {
      apply(await read([...accountIds]));
    } catch {
      // The feed and the settler report it.
    }
  }

  return {
    async refresh(accountId) {
      if (next === null) {
        const accountIds = new Set<string>();
        last = last.then(() => readNext(accountIds));
        next = { accountIds, done: last };
      }
      next.accountIds.add(accountId);
      await inTime(next.done, withinMs, () => new Error("The balance was not read in time.")).catch(() => undefined);
    },
  };
}
