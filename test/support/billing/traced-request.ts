import type { TracedRequest } from "../../../ledger/traces/waiting-requests.ts";

/** A streamed conversation that went well. */
export function tracedRequest(changes: Partial<TracedRequest> = {}): TracedRequest {
  return {
    number: 1n,
    requestId: "0199d8a0-1234-7abc-8def-0123456789ab",
    attempt: 1,
    model: "modelx-v4-pro",
    interface: "messages",
    providerKey: null,
    keyId: "AbCd5678WxYz",
    keyName: "production",
    projectId: null,
    projectName: null,
    startedAt: new Date("2026-11-27T10:00:00.123Z"),
    durationMs: 2_500,
    firstTokenMs: 400,
    isStream: true,
    isBatch: false,
    isEstimated: false,
    httpStatus: 200,
    outcome: "complete",
    inputTokens: 100,
    cachedInputTokens: 40,
    cacheWriteTokens: 7,
    outputTokens: 50,
    reasoningTokens: 20,
    units: 0,
    chargeNanoUsd: 9_319_800n,
    labels: [],
    ...changes,
  };
}
