import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../postgres/database.ts";
import { createBatches } from "./batches.ts";
import { growLeases, type GrowOutcome } from "./grow-leases.ts";
import type { LeaseGrant, LeaseRequest, LeaseRules } from "./lease.ts";
import { endLeasesOf, reapLeases, renewLeases, returnLeases, shrinkLeases, type LeasePart, type Renewal } from "./leases.ts";

/**
 * One process's operations on leases, as its own holder. Each call queries the database and may fail when that is unavailable.
 */
export interface LeaseBank {
  /** Together with others of the same turn. */
  grow(request: Omit<LeaseRequest, "holder">): Promise<LeaseGrant>;
  /** @returns those that are in force, even if they could not be renewed. */
  renew(leaseIds: readonly string[]): Promise<ReadonlyMap<string, Renewal>>;
  /** Together with others of the same turn. @throws LeasesKeptError if it is still in force. */
  giveBack(lease: Pick<LeaseRequest, "leaseId" | "accountId">): Promise<void>;
  /** Returns a part of a lease, which its holder gives up, together with others of the same turn. */
  shrink(part: LeasePart): Promise<void>;
  /** Ends every lease of this holder, including those whose grant it never received. */
  giveBackAll(): Promise<void>;
  /** Ends the leases of all holders that no longer exist. */
  reap(): Promise<void>;
  readonly ttlMs: number;
  /** The minimum taken at once. */
  readonly minNanoUsd: bigint;
}

/** How long after the deadline a holder may still renew. */
const GRACE_MS = 10_000;

export function createLeaseBank(database: Database, holder: string, rules: LeaseRules): LeaseBank {
  const growing = createBatches<Omit<LeaseRequest, "holder">, GrowOutcome>({
    run: (requests) => growLeases(database, { holder, requests }, rules),
  });
  const returning = createBatches<Pick<LeaseRequest, "leaseId" | "accountId">, true>({
    async run(leases) {
      await returnLeases(database, leases);
      return leases.map(() => true as const);
    },
  });
  const shrinking = createBatches<LeasePart, true>({
    async run(parts) {
      await shrinkLeases(database, parts);
      return parts.map(() => true as const);
    },
  });
  return {
    ttlMs: rules.ttlMs,
    minNanoUsd: rules.minNanoUsd,
    async grow(request) {
      const outcome = await growing.add(request);
      if (outcome instanceof GatewayError) throw outcome;
      return outcome;
    },
    renew: (leaseIds) => renewLeases(database, leaseIds, rules),
    async giveBack(lease) {
      await returning.add(lease);
    },
    async shrink(part) {
      await shrinking.add(part);
    },
    async giveBackAll() {
      await endLeasesOf(database, holder);
    },
    async reap() {
      await reapLeases(database, { graceMs: GRACE_MS });
    },
  };
}
