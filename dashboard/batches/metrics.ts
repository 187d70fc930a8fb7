import { Counter, Gauge, type Registry } from "prom-client";
import type { BatchFigures } from "../../ledger/batches/figures.ts";
import type { BatchStatus } from "./shapes.ts";

export interface BatchMetrics {
  /** A batch ended in this process. */
  ended(status: BatchStatus): void;
  /** Each process of the dashboard shows the same figures. */
  show(figures: BatchFigures): void;
}

export function createBatchMetrics(metrics: Registry): BatchMetrics {
  const registers = [metrics];
  const open = new Gauge({
    name: "gateway_open_batches",
    help: "Batches that have not ended.",
    labelNames: ["state"],
    registers,
  });
  const requests = new Gauge({
    name: "gateway_queued_batch_requests",
    help: "Requests of batches without an answer, in flight or not.",
    labelNames: ["state"],
    registers,
  });
  const oldest = new Gauge({
    name: "gateway_oldest_batch_age_seconds",
    help: "Time since the oldest unfinished batch was created.",
    registers,
  });
  const ends = new Counter({
    name: "gateway_ended_batches_total",
    help: "Batches that ended.",
    labelNames: ["result"],
    registers,
  });
  return {
    ended: (status) => ends.inc({ result: status }),
    show({ preparing, running, ending, openRequests, sentRequests, oldestSeconds }) {
      open.set({ state: "preparing" }, preparing);
      open.set({ state: "running" }, running);
      open.set({ state: "ending" }, ending);
      requests.set({ state: "waiting" }, Math.max(0, openRequests - sentRequests));
      requests.set({ state: "sent" }, sentRequests);
      oldest.set(oldestSeconds);
    },
  };
}
