import { formatNanoUsd } from "../../ledger/money.ts";

const MIN_DECIMALS = 2;

/** Amounts of one column: exact, with as many decimals as the most precise one. */
export function exactAmounts(nanoUsd: readonly bigint[]): string[] {
  const texts = nanoUsd.map((amount) => formatNanoUsd(amount < 0n ? -amount : amount));
  const needed = texts.map((text) => (text.split(".")[1] ?? "").replace(/0+$/, "").length);
  const decimals = Math.max(MIN_DECIMALS, ...needed);
  return texts.map((text, index) => {
    const [whole = "0", fraction = ""] = text.split(".");
    const sign = (nanoUsd[index] ?? 0n) < 0n ? "−" : "";
    return `${sign}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction.slice(0, decimals)}`;
  });
}

export function exactAmount(nanoUsd: bigint): string {
  return exactAmounts([nanoUsd])[0] ?? "";
}
