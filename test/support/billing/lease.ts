import { v7 as uuidv7 } from "uuid";
import type { LeaseRequest } from "../../../ledger/leases/lease.ts";

/** A new lease of the account "acme" by the process "one", of whatever its rules give. */
export function leaseOf(changes: Partial<LeaseRequest> = {}): LeaseRequest {
  return {
    leaseId: uuidv7(),
    accountId: "acme",
    holder: "one",
    isNew: true,
    neededNanoUsd: 0n,
    wantedNanoUsd: 0n,
    ...changes,
  };
}
