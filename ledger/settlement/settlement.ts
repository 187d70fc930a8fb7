import type { Label } from "../../contract/labels.ts";
import type { Interface, Protocol } from "../../contract/protocol.ts";
import type { Usage } from "../../contract/usage.ts";

/**
 * How an attempt ended. "stopped": the gateway ended it because credit ran out. "lost": its process died, or it never ended; the
 * last recorded usage is charged.
 */
export const OUTCOMES = ["complete", "truncated", "failed", "aborted", "stopped", "lost"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What a unit was charged, and why: `terms` are those of the Model's price, such as "1024x1024, high", or empty. */
export interface UnitPrice {
  picoUsd: bigint;
  terms: string;
}

/** One attempt that reached an upstream, and its cost. */
export interface Settlement {
  /** UUIDv7; its time determines the day that the usage counts for. */
  requestId: string;
  /** From 1. (requestId, attempt) is charged once. See `attemptOf`. */
  attempt: number;
  accountId: string;
  /** Public id of the API key. */
  keyId: string;
  /** The name under which it is served. */
  model: string;
  interface: Interface;
  upstreamProtocol: Protocol;
  backend: string;
  /** In force when the request was admitted (S28). */
  priceVersionId: bigint;
  /** The provider whose key the account brought: then the charge is a fee. Absent if it was sent with the gateway's. */
  providerKey?: string | undefined;
  usage: Usage;
  /** Of each unit, if that of the version does not tell. */
  unitPrice?: UnitPrice | undefined;
  isEstimated: boolean;
  /** It belongs to a batch; it does not if absent. */
  isBatch?: boolean | undefined;
  /** Not negative; 0 adds a usage row but no ledger entry. */
  chargeNanoUsd: bigint;
  /** The credit lease that pays, if it is still open; null: the balance pays. */
  leaseId: string | null;
  httpStatus: number;
  outcome: Outcome;
  isStream: boolean;
  startedAt: Date;
  durationMs: number;
  firstTokenMs: number | null;
  /** Present if the account keeps tags and end users; they never affect money. */
  labels?: readonly Label[] | undefined;
}

/**
 * Of all that a request sends upstream, the first attempt is charged. A batch may send a request again under its id before the
 * ledger knows how it ended: a failure without a charge leaves the first attempt to the answer (docs/decisions/0086).
 */
export function attemptOf({
  attempt,
  isBatch,
  outcome,
  chargeNanoUsd,
}: Pick<Settlement, "attempt" | "isBatch" | "outcome" | "chargeNanoUsd">): number {
  return isBatch === true && outcome !== "complete" && chargeNanoUsd === 0n ? attempt + 1 : attempt;
}
