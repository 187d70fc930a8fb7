import type { WalletSize } from "../../extproc/credit/hold-share.ts";

/** What a request may hold whose client set a limit; `isOpen`: whose client set none. */
export function sizeOf(fullNanoUsd: bigint, leastNanoUsd = fullNanoUsd, isOpen = false): WalletSize {
  return { fullNanoUsd, leastNanoUsd, isOpen, describe: (coveredNanoUsd) => `covers ${coveredNanoUsd} of ${leastNanoUsd}` };
}
