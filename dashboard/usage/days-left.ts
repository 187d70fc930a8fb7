import { counted } from "../counted.ts";

const DAYS = 7n;
/** Forecasts beyond this are useless. */
const MAX_DAYS = 999n;

/**
 * How many whole days a balance lasts at the pace of the last seven days.
 * @returns undefined without usage, or without credit.
 */
export function daysLeft(balanceNanoUsd: bigint, lastSevenDaysNanoUsd: bigint): number | undefined {
  if (balanceNanoUsd <= 0n || lastSevenDaysNanoUsd <= 0n) return undefined;
  const days = (balanceNanoUsd * DAYS) / lastSevenDaysNanoUsd;
  return Number(days > MAX_DAYS ? MAX_DAYS : days);
}

/** The same in words. */
export function runway(days: number): string {
  if (days > 730) return "more than two years";
  return counted(days, "day");
}
