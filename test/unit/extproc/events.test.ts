import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { AccessLogChoice, RefusedRequest } from "../../../extproc/access-log.ts";
import { createEvents } from "../../../extproc/events.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { captureLog } from "../../support/stacks/log.ts";

function startEvents(accessLog: AccessLogChoice = "all") {
  const { log, lines } = captureLog();
  const metrics = new Registry();
  const events = createEvents({ log, accessLog, metrics });
  /** The samples that name a metric, as they are scraped. */
  const samples = async (name: string) => (await metrics.metrics()).split("\n").filter((line) => line.startsWith(name));
  const entries = () => lines.map((line): unknown => JSON.parse(line));
  return { events, samples, entries };
}

const settlement: Settlement = {
  requestId: "0199aaaa-0000-7000-8000-000000000001",
  attempt: 1,
  accountId: "acme",
  keyId: "AbCdEfGhIjKl",
  model: "large",
  interface: "messages",
  upstreamProtocol: "chat",
  backend: "west",
  priceVersionId: 7n,
  usage: { inputTokens: 100, cachedInputTokens: 30, cacheWriteTokens: 0, outputTokens: 21, reasoningTokens: 5 },
  isEstimated: false,
  chargeNanoUsd: 1_234_000_000n,
  leaseId: null,
  httpStatus: 200,
  outcome: "complete",
  isStream: true,
  startedAt: new Date(0),
  durationMs: 2_500,
  firstTokenMs: 500,
};
const refusal: RefusedRequest = {
  requestId: "0199aaaa-0000-7000-8000-000000000002",
  accountId: "acme",
  keyId: "AbCdEfGhIjKl",
  protocol: "chat",
  code: "rate_limited",
  status: 429,
  durationMs: 1,
  cause: undefined,
};
const SERVER = 'gen_ai_operation_name="chat",gen_ai_provider_name="west",gen_ai_request_model="large"';

describe("metrics by OpenTelemetry's names", () => {
  test("a successful streamed answer is timed, and its tokens are counted by price class", async () => {
    const { events, samples } = startEvents();
    events.requestSettled(settlement);
    events.requestSettled(settlement);
    expect(await samples("gen_ai_server_request_duration_seconds_sum")).toEqual([
      `gen_ai_server_request_duration_seconds_sum{${SERVER},error_type=""} 5`,
    ]);
    expect(await samples("gen_ai_server_time_to_first_token_seconds_sum")).toEqual([
      `gen_ai_server_time_to_first_token_seconds_sum{${SERVER}} 1`,
    ]);
    // Two seconds for the twenty tokens after the first.
    expect(await samples("gen_ai_server_time_per_output_token_seconds_sum")).toEqual([
      `gen_ai_server_time_per_output_token_seconds_sum{${SERVER}} 0.2`,
    ]);
    expect(await samples("gen_ai_client_token_usage_sum")).toEqual([
      `gen_ai_client_token_usage_sum{${SERVER},gen_ai_token_type="input"} 200`,
      `gen_ai_client_token_usage_sum{${SERVER},gen_ai_token_type="cached_input"} 60`,
      `gen_ai_client_token_usage_sum{${SERVER},gen_ai_token_type="output"} 42`,
    ]);
    expect(await samples("gateway_charged_usd_total")).toEqual([`gateway_charged_usd_total{model="large"} 2.468`]);
  });

  test.for([
    { outcome: "failed", httpStatus: 504, errorType: "504" },
    { outcome: "failed", httpStatus: 599, errorType: "_OTHER" },
    // Broken off after the client had its 200.
    { outcome: "failed", httpStatus: 200, errorType: "failed" },
    { outcome: "aborted", httpStatus: 499, errorType: "aborted" },
  ] as const)("an answer that ended as $outcome with $httpStatus has the error type $errorType", async (end) => {
    const { events, samples } = startEvents();
    events.requestSettled({ ...settlement, ...end });
    expect(await samples("gen_ai_server_request_duration_seconds_count")).toEqual([
      `gen_ai_server_request_duration_seconds_count{${SERVER},error_type="${end.errorType}"} 1`,
    ]);
    // Only a whole stream says how fast it was.
    expect(await samples("gen_ai_server_time_per_output_token_seconds_count")).toEqual([]);
  });

  test("no account, key or request is a label", async () => {
    const { events, samples } = startEvents();
    events.requestSettled(settlement);
    events.requestRefused(refusal);
    const all = (await samples("")).join("\n");
    expect(all).toContain('gateway_refusals_total{code="rate_limited",interface="chat"} 1');
    for (const secret of [settlement.accountId, settlement.keyId, settlement.requestId, refusal.requestId])
      expect(all).not.toContain(secret);
  });
});

describe("the line of a finished request", () => {
  test("contains the caller, the request, its outcome and its cost", () => {
    const { events, entries } = startEvents();
    events.requestSettled(settlement);
    expect(entries()).toEqual([
      {
        level: "info",
        time: expect.any(String),
        process: "test",
        msg: "request settled",
        requestId: settlement.requestId,
        account: "acme",
        key: "AbCdEfGhIjKl",
        model: "large",
        backend: "west",
        interface: "messages",
        upstream: "chat",
        stream: true,
        status: 200,
        outcome: "complete",
        tokens: { input: 100, cachedInput: 30, cacheWrite: 0, output: 21, reasoning: 5 },
        estimated: false,
        chargeUsd: "1.234000000",
        durationMs: 2_500,
        firstTokenMs: 500,
      },
    ]);
  });

  test("a model server's error is logged with its own status and path, which the client does not see", () => {
    const { events, entries } = startEvents();
    const asked = { backend: "primary", upstreamStatus: 404, upstreamPath: "/api/chat/completions" };
    events.upstreamFailed({ requestId: "r", model: "m", ...asked, status: 502, code: "upstream_error" });
    expect(entries()).toMatchObject([{ level: "warn", msg: "error from the model server", ...asked, status: 502 }]);
  });

  test("exists for a refused request, too", () => {
    const { events, entries } = startEvents();
    events.requestRefused(refusal);
    expect(entries()).toMatchObject([
      { msg: "request refused", account: "acme", status: 429, outcome: "refused", code: "rate_limited" },
    ]);
  });

  test.for([
    { choice: "all", lines: ["complete", "aborted", "refused"] },
    { choice: "errors", lines: ["aborted", "refused"] },
    { choice: "off", lines: [] },
  ] as const)("ACCESS_LOG=$choice writes $lines", async ({ choice, lines }) => {
    const { events, entries, samples } = startEvents(choice);
    events.requestSettled(settlement);
    events.requestSettled({ ...settlement, outcome: "aborted" });
    events.requestRefused(refusal);
    expect(entries()).toMatchObject(lines.map((outcome) => ({ outcome })));
    expect(await samples("gateway_requests_total")).toHaveLength(2);
  });

  test("a refusal with a cause is logged even without an access log", () => {
    const { events, entries } = startEvents("off");
    events.requestRefused({ ...refusal, code: "billing_unavailable", cause: new Error("the disk is full") });
    expect(entries()).toMatchObject([{ code: "billing_unavailable", err: { message: "the disk is full" } }]);
  });
});

test("a damaged journal is counted by its records, and one log line says where its segments are (S39)", async () => {
  const { events, entries, samples } = startEvents();
  events.journalDamaged({ holder: "a process", records: 3, bytes: 700, segments: ["00000001.journal"] });
  expect(await samples("gateway_journal_damaged_records_total")).toEqual(["gateway_journal_damaged_records_total 3"]);
  expect(entries()).toMatchObject([
    { level: "error", holder: "a process", records: 3, bytes: 700, segments: ["00000001.journal"] },
  ]);
});

test("recorded prompts are counted by their result", async () => {
  const { events, samples } = startEvents();
  events.promptsRecorded("stored", 2);
  events.promptsRecorded("no_room", 1);
  events.promptRecordsDropped(3);
  expect(await samples("gateway_prompt_records_total")).toEqual([
    'gateway_prompt_records_total{result="stored"} 2',
    'gateway_prompt_records_total{result="no_room"} 1',
  ]);
  expect(await samples("gateway_dropped_prompt_records_total")).toEqual(["gateway_dropped_prompt_records_total 3"]);
});

test("stored responses are counted by number and by reason of deletion", async () => {
  const { events, samples } = startEvents();
  events.storedResponsesDropped(3);
  expect(await samples("gateway_dropped_stored_responses_total")).toEqual(["gateway_dropped_stored_responses_total 3"]);
});
