import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { spanOf } from "../../../../dashboard/traces/span.ts";
import type { DestinationKind } from "../../../../ledger/traces/destinations.ts";
import {
  Span_SpanKind,
  SpanSchema,
  Status_StatusCode,
  type AnyValue,
  type Span,
} from "../../../../runtime/gen/otlp/traces_pb.js";
import { tracedRequest } from "../../../support/billing/traced-request.ts";

const gateway = { host: "gateway.example.com", port: 443 };
const make = (changes: Parameters<typeof tracedRequest>[0] = {}, kind: DestinationKind = "otlp") =>
  create(SpanSchema, spanOf(tracedRequest(changes), { kind, gateway }));

function attributesOf({ attributes }: Span): Record<string, unknown> {
  const plain = ({ value }: AnyValue): unknown => (value.case === "arrayValue" ? value.value.values.map(plain) : value.value);
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value && plain(value)]));
}

test("a request is a span by OpenTelemetry's names for generative AI, with the gateway's own beside them (S61)", () => {
  const span = make();
  expect(span).toMatchObject({ name: "chat modelx-v4-pro", kind: Span_SpanKind.CLIENT });
  expect([span.startTimeUnixNano, span.endTimeUnixNano]).toEqual([1_795_773_600_123_000_000n, 1_795_773_602_623_000_000n]);
  expect(span.status).toBeUndefined();
  expect(attributesOf(span)).toEqual({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "model_gateway",
    "gen_ai.request.model": "modelx-v4-pro",
    "gen_ai.response.model": "modelx-v4-pro",
    "gen_ai.request.stream": true,
    "gen_ai.response.time_to_first_chunk": 0.4,
    // With cached tokens, as the conventions count them.
    "gen_ai.usage.input_tokens": 147n,
    "gen_ai.usage.output_tokens": 50n,
    "gen_ai.usage.cache_read.input_tokens": 40n,
    "gen_ai.usage.cache_creation.input_tokens": 7n,
    "gen_ai.usage.reasoning.output_tokens": 20n,
    "http.response.status_code": 200n,
    "server.address": "gateway.example.com",
    "server.port": 443n,
    "gateway.request_id": "0199d8a0-1234-7abc-8def-0123456789ab",
    "gateway.attempt": 1n,
    "gateway.interface": "messages",
    "gateway.outcome": "complete",
    "gateway.cost_usd": 0.0093198,
    "gateway.key.id": "AbCd5678WxYz",
    "gateway.key.name": "production",
  });
});

test("the ids follow from the request's, whenever and however often a span is made; attempts share a trace", () => {
  const [one, again, second] = [make(), make(), make({ attempt: 2 })];
  expect(Buffer.from(one.traceId).toString("hex")).toBe("0199d8a012347abc8def0123456789ab");
  expect([one.traceId, one.spanId]).toEqual([again.traceId, again.spanId]);
  expect(second.traceId).toEqual(one.traceId);
  expect(one.spanId).toHaveLength(8);
  expect(second.spanId).not.toEqual(one.spanId);
});

test.for([
  ["failed", 429, "429"],
  ["failed", 200, "failed"],
  ["aborted", 200, "aborted"],
  ["truncated", 200, "truncated"],
  ["complete", 403, "403"],
] as const)("a request that ended as %s with status %s is an error: %s", ([outcome, httpStatus, type]) => {
  const span = make({ outcome, httpStatus });
  expect(span.status).toMatchObject({ code: Status_StatusCode.ERROR, message: type });
  expect(attributesOf(span)).toMatchObject({ "error.type": type, "http.response.status_code": BigInt(httpStatus) });
});

test("tags, end user, session, project, provider key and units are told where there are any", () => {
  const labels = [
    { dimension: "end_user", value: "customer-4711" },
    { dimension: "tag:session_id", value: "s-1" },
    { dimension: "tag:team", value: "search" },
  ];
  const changes = { labels, projectId: "p-1", projectName: "Search", providerKey: "openai", isBatch: true, isEstimated: true };
  expect(attributesOf(make({ ...changes, interface: "rerank", units: 3 }))).toMatchObject({
    "gen_ai.operation.name": "rerank",
    "gen_ai.provider.name": "openai",
    "gen_ai.conversation.id": "s-1",
    "session.id": "s-1",
    "user.id": "customer-4711",
    "gateway.tag.team": "search",
    "gateway.project.id": "p-1",
    "gateway.project.name": "Search",
    "gateway.units": 3n,
    "gateway.is_batch": true,
    "gateway.is_estimated": true,
  });
});

test("Langfuse gets its own attributes too: trace, tags, disjoint tokens, cost and level", () => {
  const labels = [{ dimension: "tag:team", value: "search" }];
  const attributes = attributesOf(make({ labels, outcome: "failed", httpStatus: 502 }, "langfuse"));
  expect(attributes).toMatchObject({
    "gen_ai.usage.input_tokens": 147n,
    "langfuse.trace.name": "chat modelx-v4-pro",
    "langfuse.trace.tags": ["team:search"],
    "langfuse.trace.metadata.team": "search",
    "langfuse.trace.metadata.key": "production",
    "langfuse.observation.type": "generation",
    "langfuse.observation.model.name": "modelx-v4-pro",
    "langfuse.observation.completion_start_time": "2026-11-27T10:00:00.523Z",
    "langfuse.observation.level": "ERROR",
    "langfuse.observation.status_message": "502",
  });
  const json = (name: string): unknown => JSON.parse(String(attributes[`langfuse.observation.${name}`]));
  expect(json("usage_details")).toEqual({
    input: 100,
    input_cached_tokens: 40,
    input_cache_creation: 7,
    output: 30,
    output_reasoning_tokens: 20,
  });
  expect(json("cost_details")).toEqual({ total: 0.0093198 });
  expect(attributesOf(make({ interface: "embeddings" }, "langfuse"))).toMatchObject({ "langfuse.observation.type": "embedding" });
});
