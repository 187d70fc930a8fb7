/** Credit that one running request has reserved. It ends once: with its charge, or without one. */
export interface Hold {
  heldNanoUsd(): bigint;
  /**
   * Raises the hold to this amount where the lease covers it; else asks for more in the background.
   * "short": the account has no more, or it cannot be asked.
   */
  cover(nanoUsd: bigint): "covered" | "asked" | "short";
  /** Frees the hold and takes the charge from the lease. @returns the lease that pays; null if there is none any more. */
  settle(chargeNanoUsd: bigint): string | null;
  /** Frees the hold of a request that never ran. */
  release(): void;
}

/** Has the client left? Structurally an AbortSignal; allocating one per request would cost more than the hold. */
export interface Departure {
  readonly aborted: boolean;
}
