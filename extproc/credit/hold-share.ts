import type { HoldSize } from "./hold-size.ts";

export type WalletSize = Pick<HoldSize, "fullNanoUsd" | "minNanoUsd" | "isOpen" | "describe" | "remedy">;

/** An account's credit, from the perspective of one process. */
export interface Funds {
  /** Free for a new hold: leased and not held, or not leased by anybody. */
  freeNanoUsd: bigint;
  /** Including running requests' holds and other processes' leases: everything that may become free. */
  totalNanoUsd: bigint;
  /** Requests that hold credit in this process. */
  holds: number;
}

/**
 * The part of the free credit that one request may take: an eighth if its client set no output limit, and half if the client's
 * own limit exceeds all of the account's credit. It is divided by the number of running requests, so that a hundred concurrent
 * ones all get some.
 */
const OPEN_PART = 8n;
const CLAMPED_PART = 2n;

/** How much a request holds: its maximum cost, or a bounded part of the free credit. Never below its minimum. */
export function shareOf({ fullNanoUsd, minNanoUsd, isOpen }: WalletSize, { freeNanoUsd, totalNanoUsd, holds }: Funds): bigint {
  if (!isOpen && totalNanoUsd >= fullNanoUsd) return fullNanoUsd;
  const part = freeNanoUsd / ((isOpen ? OPEN_PART : CLAMPED_PART) * BigInt(holds + 1));
  if (part >= fullNanoUsd) return fullNanoUsd;
  return part > minNanoUsd ? part : minNanoUsd;
}
