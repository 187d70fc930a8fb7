import type { ArrayElement } from "../postgres/array-text.ts";
import type { Settlement } from "./settlement.ts";

export interface SettlementColumn {
  /** Column of usage_event. */
  name: string;
  /** Its Postgres type. */
  type: string;
  readonly read: (settlement: Settlement) => ArrayElement;
}

/**
 * How a settlement becomes a row of usage_event; Postgres computes the day from the request id. Values that are neither money nor
 * identity are clamped to their column, so that a clock jump cannot keep a charge from being settled.
 */
export const SETTLEMENT_COLUMNS: readonly SettlementColumn[] = [
  { name: "request_id", type: "uuid", read: ({ requestId }) => requestId },
  { name: "attempt", type: "smallint", read: ({ attempt }) => attempt },
  { name: "account_id", type: "text", read: ({ accountId }) => accountId },
  { name: "key_id", type: "text", read: ({ keyId }) => keyId },
  { name: "model", type: "text", read: ({ model }) => model },
  { name: "interface", type: "text", read: (settlement) => settlement.interface },
  { name: "upstream_protocol", type: "text", read: ({ upstreamProtocol }) => upstreamProtocol },
  { name: "backend", type: "text", read: ({ backend }) => backend },
  { name: "price_version_id", type: "bigint", read: ({ priceVersionId }) => priceVersionId },
  { name: "input_tokens", type: "bigint", read: ({ usage }) => usage.inputTokens },
  { name: "cached_input_tokens", type: "bigint", read: ({ usage }) => usage.cachedInputTokens },
  { name: "cache_write_tokens", type: "bigint", read: ({ usage }) => usage.cacheWriteTokens },
  { name: "output_tokens", type: "bigint", read: ({ usage }) => usage.outputTokens },
  { name: "reasoning_tokens", type: "bigint", read: ({ usage }) => usage.reasoningTokens },
  { name: "units", type: "bigint", read: ({ usage }) => usage.units ?? 0 },
  { name: "charged_unit_pico_usd", type: "bigint", read: ({ unitPrice }) => unitPrice?.picoUsd ?? null },
  { name: "unit_terms", type: "text", read: ({ unitPrice }) => unitPrice?.terms ?? null },
  { name: "provider_key", type: "text", read: ({ providerKey }) => providerKey ?? null },
  { name: "is_estimated", type: "boolean", read: ({ isEstimated }) => isEstimated },
  { name: "is_batch", type: "boolean", read: ({ isBatch }) => isBatch === true },
  { name: "charge_nano_usd", type: "bigint", read: ({ chargeNanoUsd }) => chargeNanoUsd },
  { name: "lease_id", type: "uuid", read: ({ leaseId }) => leaseId },
  { name: "http_status", type: "smallint", read: ({ httpStatus }) => httpStatus },
  { name: "outcome", type: "text", read: ({ outcome }) => outcome },
  { name: "is_stream", type: "boolean", read: ({ isStream }) => isStream },
  { name: "started_at", type: "timestamptz", read: ({ startedAt }) => startedAt },
  { name: "duration_ms", type: "integer", read: ({ durationMs }) => wholeMs(durationMs) },
  { name: "first_token_ms", type: "integer", read: ({ firstTokenMs }) => (firstTokenMs === null ? null : wholeMs(firstTokenMs)) },
];

const MAX_MS = 2 ** 31 - 1;

function wholeMs(ms: number): number {
  return Math.min(MAX_MS, Math.max(0, Math.round(ms)));
}
