import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ErrorCode } from "../contract/errors.ts";
import type { Interface } from "../contract/protocol.ts";
import { formatNanoUsd } from "../ledger/money.ts";
import type { Settlement } from "../ledger/settle.ts";
import type { Logger } from "../runtime/log.ts";

/** One function a business event; each writes its log line and counts. Labels are closed sets. */
export interface Events {
  requestSettled(settlement: Settlement): void;
  requestRefused(refusal: { requestId: string; code: ErrorCode; status: number; protocol: Interface; cause: unknown }): void;
  /** A bug: something threw that no caller can act on. */
  exchangeFailed(failure: { requestId: string; error: unknown }): void;
  /** One of several backends gave no answer; where it was not the last, another is asked. */
  attemptFailed(failure: {
    requestId: string;
    model: string;
    backend: string;
    /** From 1. */
    attempt: number;
    status: number;
    isLast: boolean;
  }): void;
  upstreamFailed(failure: { requestId: string; model: string; backend: string; status: number; code: ErrorCode }): void;
}

export interface EventsDeps {
  log: Logger;
  metrics: Registry;
  /** Read when metrics are scraped. */
  gauges: {
    openStreams(): number;
    queuedSettlements(): number;
    openHolds(): number;
    heldNanoUsd(): bigint;
    journalBytes(): number;
    ledgerDifferences(): number;
    lateSeconds(): number;
  };
}

const DURATION_BUCKETS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function createEvents({ log, metrics, gauges }: EventsDeps): Events {
  const registers = [metrics];
  const requests = new Counter({
    name: "gateway_requests_total",
    help: "Requests that reached an upstream, by model, interface and outcome.",
    labelNames: ["model", "interface", "outcome"],
    registers,
  });
  const refusals = new Counter({
    name: "gateway_refusals_total",
    help: "Requests answered with an error, by code.",
    labelNames: ["code", "interface"],
    registers,
  });
  const tokens = new Counter({
    name: "gateway_tokens_total",
    help: "Tokens settled, by model and class.",
    labelNames: ["model", "class"],
    registers,
  });
  const charged = new Counter({
    name: "gateway_charged_usd_total",
    help: "Money charged, in USD; for graphs, the ledger is exact.",
    labelNames: ["model"],
    registers,
  });
  const estimated = new Counter({
    name: "gateway_estimated_requests_total",
    help: "Requests whose usage the gateway counted itself.",
    labelNames: ["model"],
    registers,
  });
  const durations = new Histogram({
    name: "gateway_request_duration_seconds",
    help: "From the request's headers to its settlement.",
    labelNames: ["model"],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const firstTokens = new Histogram({
    name: "gateway_time_to_first_token_seconds",
    help: "From the request's headers to the first bytes of the answer.",
    labelNames: ["model"],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const failures = new Counter({
    name: "gateway_internal_failures_total",
    help: "Bugs: exchanges that failed inside the gateway.",
    registers,
  });
  const upstreamFailures = new Counter({
    name: "gateway_upstream_failures_total",
    help: "Upstream answers that were errors, by model and code.",
    labelNames: ["model", "code"],
    registers,
  });
  const failedAttempts = new Counter({
    name: "gateway_failed_attempts_total",
    help: "Attempts at one of a model's several backends that gave no answer, by model and what came of it.",
    labelNames: ["model", "result"],
    registers,
  });
  metrics.registerMetric(gauge("gateway_open_streams", "Requests in flight.", gauges.openStreams));
  metrics.registerMetric(
    gauge("gateway_queued_settlements", "Settlements that wait for the database.", gauges.queuedSettlements),
  );
  metrics.registerMetric(gauge("gateway_open_holds", "Requests that hold credit.", gauges.openHolds));
  metrics.registerMetric(
    gauge("gateway_held_usd", "Credit held by running requests, in USD.", () => Number(gauges.heldNanoUsd()) / 1e9),
  );
  metrics.registerMetric(
    gauge("gateway_journal_bytes", "Bytes in the journal of usage that the database has not got yet.", gauges.journalBytes),
  );
  metrics.registerMetric(
    gauge("gateway_ledger_differences", "Numbers that did not add up at the ledger's last check.", gauges.ledgerDifferences),
  );
  metrics.registerMetric(
    gauge(
      "gateway_event_loop_late_seconds",
      "How far the process is behind with its work; late, it refuses.",
      gauges.lateSeconds,
    ),
  );

  return {
    requestSettled(settlement) {
      const { model, usage } = settlement;
      requests.inc({ model, interface: settlement.interface, outcome: settlement.outcome });
      tokens.inc({ model, class: "input" }, usage.inputTokens);
      tokens.inc({ model, class: "cached_input" }, usage.cachedInputTokens);
      tokens.inc({ model, class: "cache_write" }, usage.cacheWriteTokens);
      tokens.inc({ model, class: "output" }, usage.outputTokens);
      charged.inc({ model }, Number(settlement.chargeNanoUsd) / 1e9);
      if (settlement.isEstimated) estimated.inc({ model });
      durations.observe({ model }, settlement.durationMs / 1000);
      if (settlement.firstTokenMs !== null) firstTokens.observe({ model }, settlement.firstTokenMs / 1000);
      log.info(
        {
          requestId: settlement.requestId,
          model,
          interface: settlement.interface,
          upstream: settlement.upstreamProtocol,
          backend: settlement.backend,
          status: settlement.httpStatus,
          outcome: settlement.outcome,
          usage,
          isEstimated: settlement.isEstimated,
          chargeUsd: formatNanoUsd(settlement.chargeNanoUsd),
          durationMs: settlement.durationMs,
          firstTokenMs: settlement.firstTokenMs,
        },
        "request settled",
      );
    },
    requestRefused({ requestId, code, status, protocol, cause }) {
      refusals.inc({ code, interface: protocol });
      log.info(
        { requestId, code, status, interface: protocol, ...(cause === undefined ? {} : { err: cause }) },
        "request refused",
      );
    },
    exchangeFailed({ requestId, error }) {
      failures.inc();
      log.error({ requestId, err: error }, "an exchange failed inside the gateway");
    },
    attemptFailed({ isLast, ...attempt }) {
      failedAttempts.inc({ model: attempt.model, result: isLast ? "gave_up" : "next_backend" });
      log.warn(attempt, isLast ? "the last backend failed" : "a backend failed, the next one is tried");
    },
    upstreamFailed({ requestId, model, backend, status, code }) {
      upstreamFailures.inc({ model, code });
      log.warn({ requestId, model, backend, status, code }, "the upstream answered with an error");
    },
  };
}

function gauge(name: string, help: string, read: () => number): Gauge {
  return new Gauge({
    name,
    help,
    registers: [],
    collect(this: Gauge) {
      this.set(read());
    },
  });
}
