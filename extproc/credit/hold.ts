/** Credit reserved by one running request. It ends once: with its charge, or without one. */
export interface Hold {
  heldNanoUsd(): bigint;
  /**
   * Raises the hold to this amount if the lease covers it; otherwise requests more in the background. "short": the account has no
   * more, or the database cannot be queried.
   */
  cover(nanoUsd: bigint): "covered" | "asked" | "short";
  /** Frees the hold and takes the charge from the lease. @returns the lease that pays; null if there is none any more. */
  settle(chargeNanoUsd: bigint): string | null;
  /** Frees the hold of a request that never ran. */
  release(): void;
}

/** Whether the client has left. Structurally an AbortSignal; allocating one per request would cost more than the hold. */
export interface Departure {
  readonly aborted: boolean;
}
