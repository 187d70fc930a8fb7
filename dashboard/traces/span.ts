import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { endUserIn, tagsIn } from "../../contract/labels.ts";
import { operationOf } from "../../contract/span-attributes.ts";
import type { DestinationKind } from "../../ledger/traces/destinations.ts";
import type { TracedRequest } from "../../ledger/traces/waiting-requests.ts";
import { Span_SpanKind, Status_StatusCode, type SpanSchema } from "../../runtime/gen/otlp/traces_pb.js";
import { encodeAttributes, usdOf, type Attributes } from "./attributes.ts";
import { langfuseAttributes } from "./langfuse.ts";

/** A prompt and its answer, as OpenTelemetry's conventions write messages, as JSON. */
export interface TracedContent {
  inputMessages: string;
  /** null: there was no answer. */
  outputMessages: string | null;
  /** Why the model ended each message, in the words of the client's protocol. */
  finishReasons: readonly string[];
  /** The record does not have all of it. */
  isCut: boolean;
}

/** What the gateway is to its customers: never the address of a model server. */
export interface GatewayAddress {
  host: string;
  port: number;
}

export interface SpanContext {
  kind: DestinationKind;
  gateway: GatewayAddress;
  /** If the destination gets it, and there is any. */
  content?: TracedContent | undefined;
}

/** The provider of everything that is not sent with the account's own key. */
const PROVIDER = "model_gateway";
/** Requests with the same value of this tag belong to one conversation. */
const SESSION_TAG = "session_id";
const NANO_PER_MS = 1_000_000n;

/**
 * A request as a span, by OpenTelemetry's conventions for generative AI; names beside theirs begin with `gateway`. Its ids follow from
 * the request's, so a batch that is sent twice describes the same spans.
 */
export function spanOf(request: TracedRequest, context: SpanContext): MessageInitShape<typeof SpanSchema> {
  const { requestId, attempt, startedAt, durationMs } = request;
  const startNano = BigInt(startedAt.getTime()) * NANO_PER_MS;
  const failure = failureOf(request);
  return {
    traceId: traceIdOf(requestId),
    spanId: spanIdOf(requestId, attempt),
    name: `${operationOf(request.interface)} ${request.model}`,
    kind: Span_SpanKind.CLIENT,
    startTimeUnixNano: startNano,
    endTimeUnixNano: startNano + BigInt(durationMs) * NANO_PER_MS,
    attributes: encodeAttributes({
      ...conventional(request, context, failure),
      ...ownAttributes(request),
      ...(context.kind === "langfuse" ? langfuseAttributes(request, failure) : {}),
    }),
    ...(failure === undefined ? {} : { status: { code: Status_StatusCode.ERROR, message: failure } }),
  };
}

/** The request's id, in the form in which its account knows it, without hyphens. */
function traceIdOf(requestId: string): Uint8Array {
  return Buffer.from(requestId.replaceAll("-", ""), "hex");
}

const SPAN_ID_BYTES = 8;

function spanIdOf(requestId: string, attempt: number): Uint8Array {
  return createHash("sha256").update(`span ${requestId} ${attempt}`).digest().subarray(0, SPAN_ID_BYTES);
}

/** The status that the client got, otherwise how the answer ended; undefined if it succeeded. */
function failureOf({ outcome, httpStatus }: TracedRequest): string | undefined {
  const isError = httpStatus >= 400;
  // An answer that the content check of its model refused is complete.
  if (outcome === "complete") return isError ? String(httpStatus) : undefined;
  return outcome === "failed" && isError ? String(httpStatus) : outcome;
}

function conventional(request: TracedRequest, { gateway, content }: SpanContext, failure: string | undefined): Attributes {
  const { labels, inputTokens, cachedInputTokens, cacheWriteTokens, firstTokenMs, reasoningTokens } = request;
  const sessionId = tagsIn(labels).find(({ name }) => name === SESSION_TAG)?.value;
  return {
    "gen_ai.operation.name": operationOf(request.interface),
    "gen_ai.provider.name": request.providerKey ?? PROVIDER,
    "gen_ai.request.model": request.model,
    "gen_ai.response.model": request.model,
    "gen_ai.request.stream": request.isStream,
    "gen_ai.response.time_to_first_chunk": firstTokenMs === null ? undefined : firstTokenMs / 1000,
    // As the conventions count them, the input includes what was read from a cache or written to it.
    "gen_ai.usage.input_tokens": BigInt(inputTokens + cachedInputTokens + cacheWriteTokens),
    "gen_ai.usage.output_tokens": BigInt(request.outputTokens),
    "gen_ai.usage.cache_read.input_tokens": cachedInputTokens === 0 ? undefined : BigInt(cachedInputTokens),
    "gen_ai.usage.cache_creation.input_tokens": cacheWriteTokens === 0 ? undefined : BigInt(cacheWriteTokens),
    "gen_ai.usage.reasoning.output_tokens": reasoningTokens === 0 ? undefined : BigInt(reasoningTokens),
    "gen_ai.conversation.id": sessionId,
    "gen_ai.input.messages": content?.inputMessages,
    "gen_ai.output.messages": content?.outputMessages ?? undefined,
    "gen_ai.response.finish_reasons": content && content.finishReasons.length > 0 ? content.finishReasons : undefined,
    "gateway.is_content_cut": content?.isCut === true ? true : undefined,
    "error.type": failure,
    "http.response.status_code": BigInt(request.httpStatus),
    "server.address": gateway.host,
    "server.port": BigInt(gateway.port),
    "session.id": sessionId,
    "user.id": endUserIn(labels),
  };
}

function ownAttributes(request: TracedRequest): Attributes {
  const tags = tagsIn(request.labels).map(({ name, value }) => [`gateway.tag.${name}`, value] as const);
  return {
    "gateway.request_id": request.requestId,
    "gateway.attempt": BigInt(request.attempt),
    "gateway.interface": request.interface,
    "gateway.outcome": request.outcome,
    "gateway.cost_usd": usdOf(request.chargeNanoUsd),
    "gateway.is_batch": request.isBatch ? true : undefined,
    "gateway.is_estimated": request.isEstimated ? true : undefined,
    "gateway.units": request.units === 0 ? undefined : BigInt(request.units),
    "gateway.key.id": request.keyId,
    "gateway.key.name": request.keyName,
    "gateway.project.id": request.projectId ?? undefined,
    "gateway.project.name": request.projectName ?? undefined,
    ...Object.fromEntries(tags),
  };
}
