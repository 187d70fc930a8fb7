import { formatNanoUsd } from "../../ledger/money.ts";

/** `GET /v1/balance` (S29): decimal strings, nine places. Nothing is held yet before a request is settled. */
export function describeBalance(availableNanoUsd: bigint): object {
  return { object: "balance", currency: "USD", available: formatNanoUsd(availableNanoUsd), held: formatNanoUsd(0n) };
}
