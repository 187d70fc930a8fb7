import { LIMIT_NAMES, LIMITS, type Limit, type Limits } from "../../contract/limits.ts";
import { amountOf } from "../../ledger/leases/account-limits.ts";
import type { CountsInUse } from "../../ledger/leases/limit-use.ts";

/** A limit that applies, and its current use. */
export interface LimitUsage {
  name: (typeof LIMIT_NAMES)[number];
  definition: Limit;
  /** Counts, or nano-USD. */
  limit: bigint;
  used: bigint;
}

export interface UsedNow {
  counts: CountsInUse | undefined;
  spentTodayNanoUsd: bigint;
  spentThisMonthNanoUsd: bigint;
}

export function limitUsage(limits: Limits, used: UsedNow): LimitUsage[] {
  return LIMIT_NAMES.flatMap((name) => {
    const limit = limits[name];
    const definition: Limit = LIMITS[name];
    return limit === undefined ? [] : [{ name, definition, limit: amountOf(limit), used: usedOf(definition, used) }];
  });
}

/** Charges count when they are made: possible charges of running requests are not included. */
function usedOf({ kind, unit, period }: Limit, { counts, spentTodayNanoUsd, spentThisMonthNanoUsd }: UsedNow): bigint {
  if (unit !== "usd") return counts?.get(kind) ?? 0n;
  return period === "day" ? spentTodayNanoUsd : spentThisMonthNanoUsd;
}
