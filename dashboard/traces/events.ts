import { Counter, Gauge, type Registry } from "prom-client";
import type { BatchResult } from "./answer.ts";

/** What happens to exports of traces, for metrics. */
export interface TraceEvents {
  /** Requests that a destination accepted. */
  sent(requests: number): void;
  /** Requests that a destination refused one by one. */
  rejected(requests: number): void;
  /** Requests that were left out because too many waited, or for too long. */
  skipped(requests: number): void;
  /** What became of a batch. */
  answered(result: BatchResult["kind"]): void;
  /** Requests that wait, of all accounts, and how long the first one has. */
  waiting(counted: { waiting: bigint; oldestSeconds: number }): void;
}

/** Counts them under `metrics`. */
export function createTraceEvents(metrics: Registry): TraceEvents {
  const registers = [metrics];
  const requests = new Counter({
    name: "gateway_traced_requests_total",
    help: "Requests for trace destinations: sent, rejected by the destination, or skipped because too much waited.",
    labelNames: ["result"],
    registers,
  });
  const batches = new Counter({
    name: "gateway_trace_batches_total",
    help: "Batches of traces by the destination's answer: accepted, later, unfit or refused.",
    labelNames: ["result"],
    registers,
  });
  const waiting = new Gauge({
    name: "gateway_queued_traces",
    help: "Requests that wait for trace destinations, of all accounts.",
    registers,
  });
  const oldest = new Gauge({
    name: "gateway_oldest_queued_trace_seconds",
    help: "How long the first of them has waited.",
    registers,
  });
  return {
    sent: (count) => requests.inc({ result: "sent" }, count),
    rejected: (count) => requests.inc({ result: "rejected" }, count),
    skipped: (count) => requests.inc({ result: "skipped" }, count),
    answered: (result) => batches.inc({ result }),
    waiting(counted) {
      waiting.set(Number(counted.waiting));
      oldest.set(counted.oldestSeconds);
    },
  };
}
