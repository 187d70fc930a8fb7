import { tagsIn } from "../../contract/labels.ts";
import { operationOf } from "../../contract/span-attributes.ts";
import type { TracedRequest } from "../../ledger/traces/waiting-requests.ts";
import { usdOf, type Attributes } from "./attributes.ts";

/** Below the address of a Langfuse server. */
export const LANGFUSE_PATH = "/api/public/otel/v1/traces";

/** Without it, Langfuse shows spans only minutes later. */
export const LANGFUSE_HEADERS = { "x-langfuse-ingestion-version": "4" } as const;

/**
 * What Langfuse does not take from OpenTelemetry's names. It keeps no record of a trace apart from its spans, so each span has
 * what is common to them. Its classes of tokens are disjoint, as ours are.
 */
export function langfuseAttributes(request: TracedRequest, failure: string | undefined): Attributes {
  const { model, startedAt, firstTokenMs, keyName, projectName, outputTokens, reasoningTokens } = request;
  const operation = operationOf(request.interface);
  const tags = tagsIn(request.labels);
  const usage = {
    input: request.inputTokens,
    input_cached_tokens: request.cachedInputTokens,
    input_cache_creation: request.cacheWriteTokens,
    output: Math.max(0, outputTokens - reasoningTokens),
    output_reasoning_tokens: reasoningTokens,
  };
  return {
    "langfuse.trace.name": `${operation} ${model}`,
    "langfuse.trace.tags": tags.length === 0 ? undefined : tags.map(({ name, value }) => `${name}:${value}`),
    ...Object.fromEntries(tags.map(({ name, value }) => [`langfuse.trace.metadata.${name}`, value] as const)),
    "langfuse.trace.metadata.key": keyName,
    "langfuse.trace.metadata.project": projectName ?? undefined,
    "langfuse.observation.type": operation === "embeddings" ? "embedding" : "generation",
    "langfuse.observation.model.name": model,
    "langfuse.observation.usage_details": JSON.stringify(usage),
    // Langfuse then does not reckon with prices of its own.
    "langfuse.observation.cost_details": JSON.stringify({ total: usdOf(request.chargeNanoUsd) }),
    "langfuse.observation.completion_start_time":
      firstTokenMs === null ? undefined : new Date(startedAt.getTime() + firstTokenMs).toISOString(),
    "langfuse.observation.level": failure === undefined ? undefined : "ERROR",
    "langfuse.observation.status_message": failure,
  };
}
