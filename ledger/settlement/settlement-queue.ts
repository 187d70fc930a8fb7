import type { Settlement } from "./settlement.ts";

/** Settlements that wait for Postgres, by account. */
export interface SettlementQueue extends Iterable<Settlement> {
  readonly size: number;
  add(settlement: Settlement): void;
  delete(settlement: Settlement): void;
  /**
   * At most this many, of as few accounts as possible: the cost of a batch grows with its accounts, each of which has a balance
   * to lock and rollups to change. Accounts take turns, so that none waits for a busier one. They stay in the queue until they
   * are deleted.
   */
  take(most: number): Settlement[];
}

export function createSettlementQueue(): SettlementQueue {
  /** The account whose turn is next comes first. */
  const accounts = new Map<string, Set<Settlement>>();
  let size = 0;

  return {
    get size() {
      return size;
    },
    add(settlement) {
      const known = accounts.get(settlement.accountId);
      if (known === undefined) accounts.set(settlement.accountId, new Set([settlement]));
      else if (known.has(settlement)) return;
      else known.add(settlement);
      size++;
    },
    delete(settlement) {
      const waiting = accounts.get(settlement.accountId);
      if (waiting?.delete(settlement) !== true) return;
      size--;
      if (waiting.size === 0) accounts.delete(settlement.accountId);
    },
    take(most) {
      const taken: Settlement[] = [];
      const hadTurn: [string, Set<Settlement>][] = [];
      for (const [accountId, waiting] of accounts) {
        const room = most - taken.length;
        if (room === 0) break;
        taken.push(...waiting.values().take(room));
        // An account that was cut off begins the next turn, unless it had this one to itself.
        if (waiting.size <= room || hadTurn.length === 0) hadTurn.push([accountId, waiting]);
      }
      for (const [accountId, waiting] of hadTurn) {
        accounts.delete(accountId);
        accounts.set(accountId, waiting);
      }
      return taken;
    },
    *[Symbol.iterator]() {
      for (const waiting of accounts.values()) yield* waiting;
    },
  };
}
