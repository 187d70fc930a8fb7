import { formatNanoUsd } from "../../ledger/money.ts";

/** `GET /v1/balance` (S29): decimal strings, nine places. `held` is the credit reserved by requests in this process. */
export function describeBalance({ availableNanoUsd, heldNanoUsd }: { availableNanoUsd: bigint; heldNanoUsd: bigint }): object {
  return { object: "balance", currency: "USD", available: formatNanoUsd(availableNanoUsd), held: formatNanoUsd(heldNanoUsd) };
}
