import { Counter, type Registry } from "prom-client";

/** @param droppedLines total since the process started. */
export function registerLogMetrics(metrics: Registry, droppedLines: () => number): void {
  let counted = 0;
  metrics.registerMetric(
    new Counter({
      name: "gateway_dropped_log_lines_total",
      help: "Log lines lost because standard output accepted none: a full disk, or a stopped reader.",
      registers: [],
      collect() {
        const dropped = droppedLines();
        this.inc(dropped - counted);
        counted = dropped;
      },
    }),
  );
}
