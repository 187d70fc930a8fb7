/** Cost of an answer in USD at the prices that the page was loaded with. */
export function costOf({ input, cached, written, output }, prices) {
  const counts = [input, cached, written, output];
  return counts.reduce((sum, count, index) => sum + BigInt(count ?? 0) * prices[index], 0n);
}

const PICO = 1_000_000_000_000n;

/** Exact to the billionth of a dollar, as charges are, without trailing zeros. */
export function showUsd(picoUsd) {
  const nano = (picoUsd + 500n) / 1000n;
  const decimals = String(nano % (PICO / 1000n)).padStart(9, "0");
  return `$${nano / (PICO / 1000n)}.${decimals.replace(/0{1,7}$/, "")}`;
}
