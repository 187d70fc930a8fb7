/** Of a histogram as `performance_bin` (ledger/migrations) builds it. */
export interface Binned {
  bin: number;
  requests: number;
}

const BINS_TO_A_DOUBLING = 8;

/**
 * The value that this share of requests does not exceed, off by 5 % at most.
 * @param share in (0, 1].
 * @returns undefined if there is no request.
 */
export function percentile(histogram: readonly Binned[], share: number): number | undefined {
  const sorted = histogram.toSorted((a, b) => a.bin - b.bin);
  const rank = Math.ceil(sumOf(sorted) * share);
  let below = 0;
  for (const { bin, requests } of sorted) {
    below += requests;
    if (below >= rank) return middleOf(bin);
  }
  return undefined;
}

/** The share of requests that failed, of a histogram of `failed`. @returns undefined if there is no request. */
export function failedShare(histogram: readonly Binned[]): number | undefined {
  const all = sumOf(histogram);
  return all === 0 ? undefined : sumOf(histogram.filter(({ bin }) => bin === 1)) / all;
}

export function sumOf(histogram: readonly Binned[]): number {
  return histogram.reduce((sum, { requests }) => sum + requests, 0);
}

function middleOf(bin: number): number {
  return bin === 0 ? 1 : 2 ** ((bin - 0.5) / BINS_TO_A_DOUBLING);
}
