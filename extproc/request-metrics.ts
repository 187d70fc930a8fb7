import { Counter, Histogram, type Registry } from "prom-client";
import { ERRORS } from "../contract/errors.ts";
import { operationOf } from "../contract/span-attributes.ts";
import type { Settlement } from "../ledger/settlement/settlement.ts";

/** Counters and timings of each request that reached an upstream. */
export interface RequestMetrics {
  settled(settlement: Settlement): void;
}

/** Upper bounds as OpenTelemetry's semantic conventions for generative AI advise, extended for long answers. */
const DURATION_BUCKETS_S = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
];
const FIRST_TOKEN_BUCKETS_S = [0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60];
const OUTPUT_TOKEN_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKEN_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

const SERVER_LABELS = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"] as const;

/**
 * Times and tokens have the names of OpenTelemetry's conventions, in Prometheus's form; metrics that the conventions do not cover
 * have the gateway's own names. Labels are names that the operator chose, and closed sets.
 */
export function createRequestMetrics(metrics: Registry): RequestMetrics {
  const registers = [metrics];
  const requests = new Counter({
    name: "gateway_requests_total",
    help: "Requests that reached an upstream, by model, interface and outcome.",
    labelNames: ["model", "interface", "outcome"],
    registers,
  });
  const charged = new Counter({
    name: "gateway_charged_usd_total",
    help: "Charges in USD, rounded for graphs; the ledger has exact amounts.",
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
    name: "gen_ai_server_request_duration_seconds",
    help: "From the request's headers to its settlement. The error type is empty if the request succeeded.",
    labelNames: [...SERVER_LABELS, "error_type"],
    buckets: DURATION_BUCKETS_S,
    registers,
  });
  const firstTokens = new Histogram({
    name: "gen_ai_server_time_to_first_token_seconds",
    help: "From the request's headers to the first bytes of a streamed answer.",
    labelNames: SERVER_LABELS,
    buckets: FIRST_TOKEN_BUCKETS_S,
    registers,
  });
  const outputTokens = new Histogram({
    name: "gen_ai_server_time_per_output_token_seconds",
    help: "For successful streams: the mean time between two tokens after the first.",
    labelNames: SERVER_LABELS,
    buckets: OUTPUT_TOKEN_BUCKETS_S,
    registers,
  });
  const tokens = new Histogram({
    name: "gen_ai_client_token_usage",
    help: "Tokens of a request by price class; the classes are disjoint.",
    labelNames: [...SERVER_LABELS, "gen_ai_token_type"],
    buckets: TOKEN_BUCKETS,
    registers,
  });

  // Each series is looked up once: no label object is created and hashed per request.
  const ofModel = remember((model) => ({
    charged: charged.labels(model),
    estimated: estimated.labels(model),
    ofInterface: remember((client) => remember((outcome) => requests.labels(model, client, outcome))),
    ofOperation: remember((operation) =>
      remember((backend) => ({
        durationOf: remember((errorType) => durations.labels(operation, backend, model, errorType)),
        firstToken: firstTokens.labels(operation, backend, model),
        outputToken: outputTokens.labels(operation, backend, model),
        tokensOf: remember((type) => tokens.labels(operation, backend, model, type)),
      })),
    ),
  }));

  return {
    settled(settlement) {
      const { usage, outcome, durationMs, firstTokenMs } = settlement;
      const { charged, estimated, ofInterface, ofOperation } = ofModel(settlement.model);
      ofInterface(settlement.interface)(outcome).inc();
      charged.inc(Number(settlement.chargeNanoUsd) / 1e9);
      if (settlement.isEstimated) estimated.inc();

      const { durationOf, firstToken, outputToken, tokensOf } = ofOperation(operationOf(settlement.interface))(
        settlement.backend,
      );
      durationOf(errorTypeOf(settlement)).observe(durationMs / 1000);
      if (firstTokenMs !== null) firstToken.observe(firstTokenMs / 1000);
      if (firstTokenMs !== null && outcome === "complete" && usage.outputTokens > 1)
        outputToken.observe((durationMs - firstTokenMs) / 1000 / (usage.outputTokens - 1));

      if (usage.inputTokens > 0) tokensOf("input").observe(usage.inputTokens);
      if (usage.cachedInputTokens > 0) tokensOf("cached_input").observe(usage.cachedInputTokens);
      if (usage.cacheWriteTokens > 0) tokensOf("cache_write").observe(usage.cacheWriteTokens);
      if (usage.outputTokens > 0) tokensOf("output").observe(usage.outputTokens);
    },
  };
}

/** The last three are a model server's own statuses that clients get unchanged (S22). */
const STATUSES: ReadonlySet<number> = new Set([...Object.values(ERRORS).map(({ status }) => status), 409, 422, 529]);

/** Why a request failed: the status that the client got, otherwise how its answer ended. Empty if it succeeded. */
function errorTypeOf({ outcome, httpStatus }: Pick<Settlement, "outcome" | "httpStatus">): string {
  if (outcome === "complete") return "";
  if (outcome !== "failed" || httpStatus < 400) return outcome;
  // A model server chooses its own status: the set stays closed.
  return STATUSES.has(httpStatus) ? String(httpStatus) : "_OTHER";
}

/** Creates the value for a key on first use, and keeps it. Keys come from a closed set. */
function remember<Value>(make: (key: string) => Value): (key: string) => Value {
  const values = new Map<string, Value>();
  return (key) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    values.set(key, made);
    return made;
  };
}
