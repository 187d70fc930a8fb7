import type { WalletSize } from "../../../extproc/credit/hold-share.ts";

/** The hold of a request whose client set a limit; `isOpen`: whose client set none. */
export function sizeOf(fullNanoUsd: bigint, minNanoUsd = fullNanoUsd, isOpen = false): WalletSize {
  const describe = (coveredNanoUsd: bigint) => `covers ${coveredNanoUsd} of ${minNanoUsd}`;
  return { fullNanoUsd, minNanoUsd, isOpen, describe, remedy: "Ask for less" };
}
