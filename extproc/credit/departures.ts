/**
 * The allowance for abandoned prompts: of requests whose clients hang up before the first byte of the answer
 * (docs/decisions/0003). One bucket per account, which empties over time.
 */
export interface Departures {
  /** Whether this one is free; if so, it is deducted from the account's allowance. */
  forgives(accountId: string, promptNanoUsd: bigint): boolean;
}

export interface DeparturesDeps {
  /** Monotonic, ms. */
  clock: { nowMs(): number };
  allowanceNanoUsd?: bigint;
  /** This process and the Envoy next to it are shutting down: requests that end now were cut by us. */
  isStopping(): boolean;
}

/** Three prompts of ten thousand tokens, at three dollars a million. */
const ALLOWANCE_NANO_USD = 100_000_000n;
/** A used allowance is complete again after this time. */
const REFILL_MS = 3_600_000;
/** More accounts than this abandon prompts in an hour only in an attack; the ones that did so longest ago are forgotten. */
const MAX_ACCOUNTS = 10_000;

interface Bucket {
  usedNanoUsd: bigint;
  atMs: number;
}

export function createDepartures({ clock, allowanceNanoUsd = ALLOWANCE_NANO_USD, isStopping }: DeparturesDeps): Departures {
  /** The one that changed longest ago comes first. */
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
