import type { HoldSize } from "./hold-size.ts";

export type WalletSize = Pick<HoldSize, "fullNanoUsd" | "minNanoUsd" | "isOpen" | "describe" | "remedy">;

/** What an account has, as one process sees it. */
export interface Funds {
  /** Free for a new hold: leased and not held, and not leased by anybody. */
  freeNanoUsd: bigint;
  /** With what running requests hold and other processes have leased: all that may become free. */
  totalNanoUsd: bigint;
  /** Requests that hold credit in this process. */
  holds: number;
}

/**
 * How much of what is free one request may take: an eighth where its client set no output limit, and half where the client's
 * own limit is more than the whole account can pay. It is divided by the requests that run, so that a hundred at once all find
 * something.
 */
const OPEN_PART = 8n;
const CLAMPED_PART = 2n;

/** How much a request holds: all that it may cost, or a bounded part of what is free. Never below its least. */
export function shareOf({ fullNanoUsd, minNanoUsd, isOpen }: WalletSize, { freeNanoUsd, totalNanoUsd, holds }: Funds): bigint {
  if (!isOpen && totalNanoUsd >= fullNanoUsd) return fullNanoUsd;
  const part = freeNanoUsd / ((isOpen ? OPEN_PART : CLAMPED_PART) * BigInt(holds + 1));
  if (part >= fullNanoUsd) return fullNanoUsd;
  return part > minNanoUsd ? part : minNanoUsd;
}
