import type { ProviderKeyFee, ProviderKeyState } from "../../contract/provider-key.ts";
import { formatPercent } from "../../ledger/money.ts";
import { showImagePrice } from "../money.ts";

/** "$0.0005 per request + 5% of its price". */
export function feeWords({ requestPicoUsd, millionths }: ProviderKeyFee): string {
  const parts = [
    ...(requestPicoUsd > 0n ? [`${showImagePrice(requestPicoUsd)} per request`] : []),
    ...(millionths > 0n ? [`${formatPercent(millionths)}% of the price`] : []),
  ];
  return parts.length === 0 ? "None" : parts.join(" + ");
}

export const STATE_WORDS: Readonly<Record<ProviderKeyState, { words: string; isGood: boolean; note: string }>> = {
  pending: { words: "Being applied", isGood: true, note: "In use within seconds." },
  active: { words: "In use", isGood: true, note: "" },
  no_room: {
    words: "No room",
    isGood: false,
    note: "The service has no room for it. Delete it, or ask the service's operator.",
  },
  unusable: {
    words: "Unusable",
    isGood: false,
    note: "It cannot be used. Enter it again, or delete it.",
  },
};

/** All that is shown of a key. */
export function masked(lastFour: string): string {
  return `••••${lastFour}`;
}
