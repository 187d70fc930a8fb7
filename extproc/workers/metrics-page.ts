import { AggregatorRegistry, type Registry } from "prom-client";
import * as z from "zod";

/** Metrics of one process as prom-client returns them, reduced to the fields read here. */
const metricsSchema = z.array(
  z.looseObject({ name: z.string(), type: z.string(), aggregator: z.string(), values: z.array(z.unknown()) }),
);
export type Metrics = z.infer<typeof metricsSchema>;

export function readMetrics(answer: readonly unknown[]): Metrics {
  return metricsSchema.parse(answer);
}

/** Adds up the processes' counts, label by label. */
export function addUp(processes: readonly Metrics[]): Registry {
  return AggregatorRegistry.aggregate(processes.map((metrics) => metrics.map(withAggregator)));
}

/** Counts of an ended process remain: a sum that fell would be read as a restart of all. */
export async function keepCounts(processes: readonly Metrics[]): Promise<Metrics> {
  const counted = processes.map((metrics) => metrics.filter(({ type }) => type === "counter" || type === "histogram"));
  return readMetrics(await addUp(counted).getMetricsAsJSON());
}

/** A process's start time has a label that distinguishes it from the others': nothing needs to be left out. */
function withAggregator(metric: Metrics[number]): Metrics[number] {
  return metric.aggregator === "omit" ? { ...metric, aggregator: "max" } : metric;
}
