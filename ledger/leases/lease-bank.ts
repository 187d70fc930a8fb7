import type { Database } from "../postgres/database.ts";
import {
  endLeasesOf,
  growLease,
  reapLeases,
  renewLeases,
  returnLease,
  shrinkLease,
  type LeaseGrant,
  type LeaseRequest,
  type LeaseRules,
} from "./leases.ts";

/** What one process does with leases, as its own holder. Each call asks the database and may fail when that is away. */
export interface LeaseBank {
  grow(request: Omit<LeaseRequest, "holder">): Promise<LeaseGrant>;
  /** @returns those that are still in force. */
  renew(leaseIds: readonly string[]): Promise<ReadonlySet<string>>;
  giveBack(lease: Pick<LeaseRequest, "leaseId" | "accountId">): Promise<void>;
  /** Gives a part of a lease back, which its holder no longer counts on. */
  shrink(part: Pick<LeaseRequest, "leaseId" | "accountId"> & { nanoUsd: bigint }): Promise<void>;
  /** Ends every lease of this holder, also one whose granting it never heard of. */
  giveBackAll(): Promise<void>;
  /** Ends what holders that are gone have left, whoever they were. */
  reap(): Promise<void>;
  readonly ttlMs: number;
}

/** How long a holder that is late may still renew. */
const GRACE_MS = 10_000;

export function createLeaseBank(database: Database, holder: string, rules: LeaseRules): LeaseBank {
  return {
    ttlMs: rules.ttlMs,
    grow: (request) => growLease(database, { ...request, holder }, rules),
    renew: (leaseIds) => renewLeases(database, leaseIds, rules),
    async giveBack(lease) {
      await returnLease(database, lease);
    },
    async shrink(part) {
      await shrinkLease(database, part);
    },
    async giveBackAll() {
      await endLeasesOf(database, holder);
    },
    async reap() {
      await reapLeases(database, { graceMs: GRACE_MS });
    },
  };
}
