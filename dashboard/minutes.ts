import type { UsageSums } from "../ledger/usage/sums.ts";

const SECONDS_PER_MINUTE = 60;

/** Minutes of transcribed audio, to the hundredth: a few seconds are not nothing. */
export function minutesOf({ seconds }: Pick<UsageSums, "seconds">): number {
  return Math.ceil((seconds / SECONDS_PER_MINUTE) * 100) / 100;
}
