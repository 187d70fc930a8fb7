import type { ProviderKeyFee, ProviderKeyState } from "../../contract/provider-key.ts";
import { formatPercent } from "../../ledger/money.ts";
import type { OrOther } from "../../ledger/postgres/known-or-other.ts";
import { showImagePrice } from "../money.ts";

/** "$0.0005 per request + 5% of its price". */
export function feeWords({ requestPicoUsd, millionths }: ProviderKeyFee): string {
  const parts = [
    ...(requestPicoUsd > 0n ? [`${showImagePrice(requestPicoUsd)} per request`] : []),
    ...(millionths > 0n ? [`${formatPercent(millionths)}% of the price`] : []),
  ];
  return parts.length === 0 ? "None" : parts.join(" + ");
}

export const STATE_WORDS: Readonly<Record<OrOther<ProviderKeyState>, { words: string; badge: string; note: string }>> = {
  pending: { words: "Pending", badge: "", note: "Takes effect within seconds." },
  active: { words: "Active", badge: "active", note: "" },
  no_room: {
    words: "No capacity",
    badge: "failed",
    note: "The service has no capacity for this key. Delete it, or contact the service's operator.",
  },
  unusable: {
    words: "Unusable",
    badge: "failed",
    note: "This key cannot be used. Enter it again, or delete it.",
  },
  other: { words: "Other", badge: "failed", note: "This key cannot be used at the moment. You can delete it." },
};

/** All that is shown of a key. */
export function masked(lastFour: string): string {
  return `••••${lastFour}`;
}
