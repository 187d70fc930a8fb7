import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../postgres/database.ts";
import { createBatches, type Batches } from "./batches.ts";
import { growLeases, tryToGrowLeases, type GrowOutcome } from "./grow-leases.ts";
import { HELD } from "./held.ts";
import type { LeaseGrant, LeaseRequest, LeaseRules } from "./lease.ts";
import {
  endLeasesOf,
  renewLeases,
  returnLeases,
  shrinkLeases,
  type Freed,
  type FreeOptions,
  type LeasePart,
  type Renewal,
} from "./leases.ts";

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
  readonly ttlMs: number;
  /** The minimum taken at once. */
  readonly minNanoUsd: bigint;
}

/** Settling holds a balance for milliseconds. Of many accounts that others hold for long, each in turn takes a connection so long. */
const ALONE = { lockTimeoutMs: 1_000 };

export function createLeaseBank(database: Database, holder: string, rules: LeaseRules): LeaseBank {
  const growing = createBatches<Omit<LeaseRequest, "holder">, GrowOutcome>({
    run: (requests) => tryToGrowLeases(database, { holder, requests }, rules),
    // Those of accounts that settle at the same moment, too: their requests wait for it.
    maxAlone: 4,
    async runAlone(request) {
      const [outcome] = await growLeases(database, { holder, requests: [request] }, rules, ALONE);
      if (outcome === undefined) throw new Error("A request to grow a lease has no outcome.");
      return outcome;
    },
  });
  const returning = createFreeing<Pick<LeaseRequest, "leaseId" | "accountId">>((leases, options) =>
    returnLeases(database, leases, options),
  );
  const shrinking = createFreeing<LeasePart>((parts, options) => shrinkLeases(database, parts, options));
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
  };
}

function createFreeing<Item extends { accountId: string }>(
  free: (items: readonly Item[], options: FreeOptions) => Promise<Freed>,
): Batches<Item, true> {
  return createBatches<Item, true>({
    async run(items) {
      const { heldIds } = await free(items, { leavesHeld: true });
      return items.map(({ accountId }) => (heldIds.has(accountId) ? HELD : true));
    },
    async runAlone(item) {
      await free([item], ALONE);
      return true;
    },
  });
}
