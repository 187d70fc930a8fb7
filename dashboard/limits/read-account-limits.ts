import { dayOf } from "../../contract/days.ts";
import type { Limits } from "../../contract/limits.ts";
import { readAccountLimits, type AccountLimits } from "../../ledger/leases/account-limits.ts";
import { readCountsInUse } from "../../ledger/leases/limit-use.ts";
import type { Queryable } from "../../ledger/postgres/database.ts";
import { usageTotals } from "../../ledger/usage/reports.ts";
import { GatewayError } from "../../contract/errors.ts";
import { limitUsage, type LimitUsage } from "./limit-usage.ts";
import { LIMITS } from "../../contract/limits.ts";

export interface AccountLimitsInUse extends AccountLimits {
  usage: readonly LimitUsage[];
}

/** @throws GatewayError `not_found` if the account does not exist. */
export async function readAccountLimitsInUse(database: Queryable, accountId: string): Promise<AccountLimitsInUse> {
  const nowMs = Date.now();
  const subject = `account:${accountId}`;
  const [limits, counts, totals] = await Promise.all([
    readAccountLimits(database, accountId),
    readCountsInUse(database, [subject], nowMs),
    usageTotals(database, { accountId, today: dayOf(nowMs) }),
  ]);
  if (limits === undefined) throw new GatewayError("not_found", "This account does not exist.");
  const used = {
    counts: counts.get(subject),
    spentTodayNanoUsd: totals.today.chargeNanoUsd,
    spentThisMonthNanoUsd: totals.thisMonth.chargeNanoUsd,
  };
  return { ...limits, usage: limitUsage(limits.effective, used) };
}

/** For the audit log: "Requests per minute: 60, Daily spend (USD): 5.00". */
export function describeLimits(limits: Limits): string {
  const parts = Object.entries(LIMITS).flatMap(([name, { label }]) => {
    const value = Object.entries(limits).find(([each]) => each === name)?.[1];
    return value === undefined ? [] : [`${label}: ${value}`];
  });
  return parts.length === 0 ? "none" : parts.join(", ");
}
