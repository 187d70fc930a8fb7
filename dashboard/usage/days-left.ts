const DAYS = 7n;
/** Beyond this nobody plans. */
const MAX_DAYS = 999n;

/**
 * How many whole days a balance lasts at the pace of the last seven days.
 * @returns undefined where nothing was used, or there is nothing left.
 */
export function daysLeft(balanceNanoUsd: bigint, lastSevenDaysNanoUsd: bigint): number | undefined {
  if (balanceNanoUsd <= 0n || lastSevenDaysNanoUsd <= 0n) return undefined;
  const days = (balanceNanoUsd * DAYS) / lastSevenDaysNanoUsd;
  return Number(days > MAX_DAYS ? MAX_DAYS : days);
}

/** The same in words. */
export function runway(days: number): string {
  if (days > 730) return "more than two years";
  return days === 1 ? "1 day" : `${days} days`;
}
