export interface LeaseRules {
  /** How long a lease stays in force without a renewal. */
  ttlMs: number;
  /** The least and the most that is taken at once, nano-USD; a request that needs more gets what it needs. */
  minNanoUsd: bigint;
  maxNanoUsd: bigint;
}

export interface LeaseRequest {
  leaseId: string;
  accountId: string;
  /** The process that asks. */
  holder: string;
  /** What must be added for a request to go on: less is of no use, and nothing is added then. 0n refills. */
  neededNanoUsd: bigint;
  /** What is added where there is enough. */
  wantedNanoUsd: bigint;
}

/** What was added to a lease, and what is left of the account after it. */
export interface LeaseGrant {
  /** False: the lease has ended, and another one is needed. */
  isOpen: boolean;
  addedNanoUsd: bigint;
  /** All that the lease has been given, with what an earlier call gave whose answer was lost. */
  grantedNanoUsd: bigint;
  /** Sum of the account's entries and its overdraft: all it could spend if nothing were leased. */
  spendableNanoUsd: bigint;
  /** What is left to lease after this. Below zero where more was used than there was. */
  freeNanoUsd: bigint;
  /** In open leases of other processes. */
  leasedByOthersNanoUsd: bigint;
}
