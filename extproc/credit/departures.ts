/**
 * What accounts' clients may leave without paying: prompts of requests whose clients hang up before a byte of the answer has come
 * (docs/decisions/0003). One bucket an account, which empties with time.
 */
export interface Departures {
  /** Is this one free? What is free is taken from the account's allowance. */
  forgives(accountId: string, promptNanoUsd: bigint): boolean;
}

export interface DeparturesDeps {
  /** Monotonic, ms. */
  clock: { nowMs(): number };
  allowanceNanoUsd?: bigint;
  /** This process and the Envoy beside it are being stopped: requests that end now were cut by us. */
  isStopping(): boolean;
}

/** Three prompts of ten thousand tokens, at three dollars a million. */
const ALLOWANCE_NANO_USD = 100_000_000n;
/** A used allowance is whole again after so long. */
const REFILL_MS = 3_600_000;
/** More accounts than this leave prompts behind in an hour only by attack; those that left one longest ago are forgotten then. */
const MAX_ACCOUNTS = 10_000;

interface Bucket {
  usedNanoUsd: bigint;
  atMs: number;
}

export function createDepartures({ clock, allowanceNanoUsd = ALLOWANCE_NANO_USD, isStopping }: DeparturesDeps): Departures {
  /** The one that changed longest ago stands first. */
  const buckets = new Map<string, Bucket>();

  function usedNanoUsd(accountId: string, nowMs: number): bigint {
    const bucket = buckets.get(accountId);
    if (bucket === undefined) return 0n;
    const refilled = (allowanceNanoUsd * BigInt(Math.floor(nowMs - bucket.atMs))) / BigInt(REFILL_MS);
    return bucket.usedNanoUsd > refilled ? bucket.usedNanoUsd - refilled : 0n;
  }

  return {
    forgives(accountId, promptNanoUsd) {
      if (isStopping()) return true;
      const nowMs = clock.nowMs();
      const used = usedNanoUsd(accountId, nowMs) + promptNanoUsd;
      if (used > allowanceNanoUsd) return false;
      buckets.delete(accountId);
      buckets.set(accountId, { usedNanoUsd: used, atMs: nowMs });
      const [oldest] = buckets.keys();
      if (buckets.size > MAX_ACCOUNTS && oldest !== undefined) buckets.delete(oldest);
      return true;
    },
  };
}
