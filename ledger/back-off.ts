export interface BackOff {
  firstMs: number;
  mostMs: number;
}

/**
 * How long to wait before attempt `attempt` + 1, in ms: doubling, capped, and spread over the upper half, so that
 * processes that failed together do not come back together.
 * @param attempt failed attempts so far, from 1.
 * @param random in [0, 1).
 */
export function backOffMs({ firstMs, mostMs }: BackOff, attempt: number, random: number): number {
  const capMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(capMs * (0.5 + random / 2));
}
