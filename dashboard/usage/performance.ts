import { failedShare, percentile, sumOf } from "../../ledger/usage/percentile.ts";
import type { Measure, PerformanceBin } from "../../ledger/usage/performance-report.ts";
import { bucketOf, type Step } from "../charts/buckets.ts";
import type { LineSeries } from "../charts/lines.ts";

export const METRICS = {
  latency: { name: "Latency", measure: "duration", hasPercentiles: true },
  "first-token": { name: "Time to first token", measure: "first_token", hasPercentiles: true },
  speed: { name: "Tokens per second", measure: "speed", hasPercentiles: false },
  errors: { name: "Error rate", measure: "failed", hasPercentiles: false },
} as const satisfies Record<string, { name: string; measure: Measure; hasPercentiles: boolean }>;
export type PerformanceMetric = keyof typeof METRICS;

const SHARES = { p50: 0.5, p95: 0.95 } as const;
export type Share = keyof typeof SHARES;

/** A metric over some requests: milliseconds, tokens per second, or percent. @returns null if there is none. */
export function valueOf(metric: PerformanceMetric, bins: readonly PerformanceBin[], share: Share): number | null {
  const own = bins.filter(({ measure }) => measure === METRICS[metric].measure);
  switch (metric) {
    case "latency":
    case "first-token":
      return percentile(own, SHARES[share]) ?? null;
    case "speed": {
      const hundredths = percentile(own, SHARES.p50);
      return hundredths === undefined ? null : hundredths / 100;
    }
    case "errors": {
      const failed = failedShare(own);
      return failed === undefined ? null : failed * 100;
    }
  }
}

/** How many requests were answered, successfully or not. */
export function answeredOf(bins: readonly PerformanceBin[]): number {
  return sumOf(bins.filter(({ measure }) => measure === "failed"));
}

interface Drawing {
  metric: PerformanceMetric;
  /** undefined: p50 and p95, each as a line, or the single line of a metric without percentiles. */
  share: Share | undefined;
  step: Step;
  /** Ids, in order. */
  buckets: readonly string[];
  nameOf(group: string): string;
}

/** Lines of a chart; of several groups, those with the most requests first. */
export function linesOf(bins: readonly PerformanceBin[], { metric, share, step, buckets, nameOf }: Drawing): LineSeries[] {
  const byBucket = (own: readonly PerformanceBin[], name: string, at: Share): LineSeries => {
    const parts = Map.groupBy(own, ({ start }) => bucketOf(start, step));
    return { name, values: buckets.map((bucket) => valueOf(metric, parts.get(bucket) ?? [], at)) };
  };
  if (share !== undefined) return groupsOf(bins).map(({ group, bins: own }) => byBucket(own, nameOf(group), share));
  if (!METRICS[metric].hasPercentiles) return [byBucket(bins, METRICS[metric].name, "p50")];
  return (["p50", "p95"] as const).map((at) => byBucket(bins, at, at));
}

/** Most requests first. */
export function groupsOf(bins: readonly PerformanceBin[]): { group: string; bins: PerformanceBin[] }[] {
  return [...Map.groupBy(bins, ({ group }) => group)]
    .map(([group, own]) => ({ group, bins: own }))
    .toSorted((a, b) => sumOf(b.bins) - sumOf(a.bins) || (a.group < b.group ? -1 : 1));
}
