import { Counter, Histogram, type Registry } from "prom-client";
import type { ErrorCode } from "../contract/errors.ts";
import type { Settlement } from "../ledger/settlement/settlement.ts";
import type { Logger } from "../runtime/log.ts";
import type { JournalDamage } from "./journal/read-journal.ts";
import { createAccessLog, type AccessLogChoice, type RefusedRequest } from "./access-log.ts";
import type { CheckedPart, CheckFailure, GuardrailResult } from "./guardrails/outcome.ts";
import type { AdmissionRefusal } from "./load/admission.ts";
import type { FreeRequestRefusal } from "./load/free-requests.ts";
import type { Anomaly } from "./meter/meter.ts";
import type { StoreResult } from "./stored-responses/write-queue.ts";
import type { RecordResult } from "./prompt-log/write-queue.ts";
import { logText } from "./protocol/upstream-error-text.ts";
import { createRequestMetrics } from "./request-metrics.ts";

/** One function per business event; each writes its log line and counts. Labels are closed sets. */
export interface Events {
  requestSettled(settlement: Settlement): void;
  requestRefused(refusal: RefusedRequest): void;
  /** In addition to `requestRefused`: which limit of the process it met. */
  limited(reason: AdmissionRefusal | FreeRequestRefusal): void;
  /** In addition to `requestRefused`: the answer is delayed, because there were too many. */
  refusalDelayed(): void;
  /** A request waits to begin: its account has many in flight while others are active. */
  startDelayed(): void;
  /** The gateway answered a stream before its model server did. */
  answeredEarly(model: string): void;
  /** A hook was asked about a request, or about an answer or a window of one. */
  guardrailChecked(check: { model: string; part: CheckedPart; result: GuardrailResult; durationMs: number }): void;
  /** In addition: why there is no verdict. Never what the hook said. */
  guardrailFailed(failure: {
    requestId: string;
    model: string;
    part: CheckedPart;
    failure: CheckFailure;
    /** Null if it did not answer. */
    hookStatus: number | null;
    isAllowed: boolean;
  }): void;
  /** In addition: a client did not get its answer, or the rest of it. */
  answerStopped(stop: { requestId: string; model: string; backend: string; code: ErrorCode }): void;
  /** A bug: an error was thrown that no caller can act on. */
  exchangeFailed(failure: { requestId: string; error: unknown }): void;
  /** One of several backends failed; unless it was the last, another is tried. */
  attemptFailed(failure: {
    requestId: string;
    model: string;
    backend: string;
    /** From 1. */
    attempt: number;
    status: number;
    isLast: boolean;
  }): void;
  /** A model server's usage report was corrected before charging (meter/meter.ts). */
  usageAnomaly(report: { requestId: string; model: string; backend: string; anomaly: Anomaly }): void;
  /** A client of another protocol got an ordinary end instead. */
  stopReasonUnknown(stop: { requestId: string; model: string; backend: string; reason: string }): void;
  /** The outcome of responses that were to be stored. */
  responsesStored(result: StoreResult, responses: number): void;
  /** Stored responses were deleted to make room for others. */
  storedResponsesDropped(responses: number): void;
  /** The outcome of requests of keys with a prompt log. */
  promptsRecorded(result: RecordResult, records: number): void;
  /** Recorded prompts were deleted to make room for others. */
  promptRecordsDropped(records: number): void;
  /** A request is served and charged without its tags and its end user. */
  labelsDropped(): void;
  upstreamFailed(failure: {
    requestId: string;
    model: string;
    backend: string;
    /** The model server's own status; null if it did not answer. */
    upstreamStatus: number | null;
    /** The path that was requested. */
    upstreamPath: string;
    /** The client's status. */
    status: number;
    code: ErrorCode;
  }): void;
  /** There was no room for a complete answer, or for more of it. */
  answerRefused(refusal: { requestId: string; model: string; backend: string; bytes: number; code: ErrorCode }): void;
  /** Part of an ended process's journal could not be read: data that only it contained is charged to nobody. */
  journalDamaged(damage: JournalDamage & { holder: string }): void;
}

export interface EventsDeps {
  log: Logger;
  accessLog: AccessLogChoice;
  metrics: Registry;
}

/** No check takes longer than five seconds. */
const GUARDRAIL_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createEvents({ log, accessLog: choice, metrics }: EventsDeps): Events {
  const registers = [metrics];
  const requests = createRequestMetrics(metrics);
  const accessLog = createAccessLog({ log, choice });
  const refusals = new Counter({
    name: "gateway_refusals_total",
    help: "Requests answered with an error, by code.",
    labelNames: ["code", "interface"],
    registers,
  });
  const limited = new Counter({
    name: "gateway_limited_requests_total",
    help: "Requests refused because the process was busy or an account exceeded its share, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const delayedRefusals = new Counter({
    name: "gateway_delayed_refusals_total",
    help: "Refusals delayed because their clients retried too fast.",
    registers,
  });
  const delayedStarts = new Counter({
    name: "gateway_delayed_starts_total",
    help: "Requests delayed because their account had many in flight.",
    registers,
  });
  const earlyAnswers = new Counter({
    name: "gateway_early_answers_total",
    help: "Streams that the gateway answered before their model server did, by model.",
    labelNames: ["model"],
    registers,
  });
  const guardrailChecks = new Counter({
    name: "gateway_guardrail_checks_total",
    help: "Texts of requests and answers that a hook was asked about, by model, part and result.",
    labelNames: ["model", "part", "result"],
    registers,
  });
  const guardrailSeconds = new Histogram({
    name: "gateway_guardrail_duration_seconds",
    help: "How long requests and answers waited for their hook, by model and part.",
    labelNames: ["model", "part"],
    buckets: GUARDRAIL_BUCKETS_S,
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
    help: "Failed attempts at a model's backends, by model and what followed.",
    labelNames: ["model", "result"],
    registers,
  });
  const damagedRecords = new Counter({
    name: "gateway_journal_damaged_records_total",
    help: "Journal records that could not be read during recovery.",
    registers,
  });
  const usageAnomalies = new Counter({
    name: "gateway_usage_anomalies_total",
    help: "Usage reports that were corrected before charging, by model and fault.",
    labelNames: ["model", "anomaly"],
    registers,
  });
  const unknownReasons = new Counter({
    name: "gateway_unknown_stop_reasons_total",
    help: "Translated answers with an unknown stop reason from the model server, by model.",
    labelNames: ["model"],
    registers,
  });
  const storedResponses = new Counter({
    name: "gateway_stored_responses_total",
    help: "Responses that clients may continue by id, by whether they were stored.",
    labelNames: ["result"],
    registers,
  });
  const droppedResponses = new Counter({
    name: "gateway_dropped_stored_responses_total",
    help: "Stored responses deleted before they expired, because an account or all of them stored too much.",
    registers,
  });
  const promptRecords = new Counter({
    name: "gateway_prompt_records_total",
    help: "Requests of keys with a prompt log, by whether they were recorded.",
    labelNames: ["result"],
    registers,
  });
  const droppedRecords = new Counter({
    name: "gateway_dropped_prompt_records_total",
    help: "Recorded prompts deleted before they expired, because an account or all of them recorded too much.",
    registers,
  });
  const droppedLabels = new Counter({
    name: "gateway_dropped_labels_total",
    help: "Requests whose tags and end user were not kept, because too many settlements wait for the database.",
    registers,
  });

  return {
    requestSettled(settlement) {
      requests.settled(settlement);
      accessLog.settled(settlement);
    },
    requestRefused(refusal) {
      refusals.inc({ code: refusal.code, interface: refusal.protocol });
      accessLog.refused(refusal);
    },
    limited: (reason) => limited.inc({ reason }),
    refusalDelayed: () => delayedRefusals.inc(),
    startDelayed: () => delayedStarts.inc(),
    answeredEarly: (model) => earlyAnswers.inc({ model }),
    guardrailChecked({ model, part, result, durationMs }) {
      guardrailChecks.inc({ model, part, result });
      guardrailSeconds.observe({ model, part }, durationMs / 1000);
    },
    guardrailFailed(failure) {
      log.warn(failure, "no verdict of the guardrail");
    },
    answerStopped(stop) {
      log.info(stop, "the guardrail stopped an answer");
    },
    exchangeFailed({ requestId, error }) {
      failures.inc();
      log.error({ requestId, err: error }, "internal error while handling a request");
    },
    attemptFailed({ isLast, ...attempt }) {
      failedAttempts.inc({ model: attempt.model, result: isLast ? "gave_up" : "next_backend" });
      log.warn(attempt, isLast ? "the last backend failed" : "a backend failed; trying the next one");
    },
    usageAnomaly(report) {
      usageAnomalies.inc({ model: report.model, anomaly: report.anomaly });
      log.warn(report, "implausible usage reported by the model server; charging a corrected amount");
    },
    stopReasonUnknown({ reason, ...stop }) {
      unknownReasons.inc({ model: stop.model });
      log.warn({ ...stop, reason: logText(reason) }, "unknown stop reason from the model server");
    },
    responsesStored: (result, responses) => storedResponses.inc({ result }, responses),
    storedResponsesDropped: (responses) => droppedResponses.inc(responses),
    promptsRecorded: (result, records) => promptRecords.inc({ result }, records),
    promptRecordsDropped: (records) => droppedRecords.inc(records),
    labelsDropped: () => droppedLabels.inc(),
    upstreamFailed(failure) {
      upstreamFailures.inc({ model: failure.model, code: failure.code });
      log.warn(failure, "error from the model server");
    },
    answerRefused(refusal) {
      limited.inc({ reason: "answer" });
      log.warn(refusal, "no memory left for a complete answer");
    },
    journalDamaged(damage) {
      damagedRecords.inc(damage.records);
      log.error(damage, "damaged journal: readable records are charged, damaged segments are kept");
    },
  };
}
