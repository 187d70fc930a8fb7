import type { GatewayError } from "../../contract/errors.ts";
import type { LeaseBank } from "../../ledger/leases/lease-bank.ts";
import type { WalletSize } from "./hold-share.ts";
import type { Departure, Hold } from "./hold.ts";

export interface WalletDeps {
  accountId: string;
  bank: Pick<LeaseBank, "grow" | "giveBack" | "shrink" | "ttlMs" | "minNanoUsd">;
  /** Monotonic, ms: a clock that is set must not make a lease valid again. */
  clock: { nowMs(): number };
  newLeaseId(): string;
  topUpUrl: string;
  /** The ledger has answered, whether or not there was credit. */
  onLeased(): void;
  onLeaseFailed(error: unknown): void;
  /** How long a request waits for its lease. */
  waitMs?: number;
}

export interface Lease {
  id: string;
  grantedNanoUsd: bigint;
  /** Charges taken from it, settled or on their way. */
  spentNanoUsd: bigint;
  expiresAtMs: number;
  /** What was free to use after it last grew: at half of that it grows again. */
  refilledNanoUsd: bigint;
  /** A return of a part may have failed: the database may count more as leased than this process. */
  isUncertain: boolean;
}

export interface Waiter {
  size: WalletSize;
  signal: Departure;
  /** On the wallet's clock. */
  sinceMs: number;
  timer: NodeJS.Timeout;
  resolve(hold: Hold): void;
  reject(error: GatewayError): void;
}

/** What a lease is to grow by: at the least, or it stays as it is, and where there is enough. */
export interface Amounts {
  neededNanoUsd: bigint;
  wantedNanoUsd: bigint;
}

/** What the last asking has shown. */
export type Answer =
  | { kind: "away"; atMs: number }
  /** isEnough: all that was needed was there. */
  | { kind: "grant"; atMs: number; sentMs: number; isEnough: boolean; freeNanoUsd: bigint; othersNanoUsd: bigint };
