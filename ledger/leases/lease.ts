export interface LeaseRules {
  /** How long a lease stays in force without a renewal. */
  ttlMs: number;
  /** The minimum and maximum taken at once, nano-USD; a request that needs more gets it. */
  minNanoUsd: bigint;
  maxNanoUsd: bigint;
}

export interface LeaseRequest {
  leaseId: string;
  accountId: string;
  /** As far as its holder knows: an earlier request for it may have been answered without its receiving the answer. */
  isNew: boolean;
  /** The requesting process. */
  holder: string;
  /** The minimum that must be added for a request to proceed: with less, nothing is added. 0n refills. */
  neededNanoUsd: bigint;
  /** The amount to add if enough is available. */
  wantedNanoUsd: bigint;
}

/** The amount added to a lease, and the account's remaining credit. */
export interface LeaseGrant {
  /** False: the lease has ended, and another one is needed. */
  isOpen: boolean;
  addedNanoUsd: bigint;
  /** Total credit of the lease, including an earlier grant whose answer was lost. */
  grantedNanoUsd: bigint;
  /** Sum of the account's entries and its overdraft: the maximum it could spend if nothing were leased. */
  spendableNanoUsd: bigint;
  /** Credit that can still be leased after this. Below zero if more was used than was available. */
  freeNanoUsd: bigint;
  /** In open leases of other processes. */
  leasedByOthersNanoUsd: bigint;
}
