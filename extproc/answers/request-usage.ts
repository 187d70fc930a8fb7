import { GatewayError } from "../../contract/errors.ts";
import { describeLabels } from "../../contract/labels.ts";
import { unitsByKind } from "../../contract/units.ts";
import { isRequestId } from "../../ledger/usage/request-id-time.ts";
import type { WorldKey } from "../world/world.ts";
import { describeCharge, type UsageReport } from "./usage.ts";

interface RequestUsageInput {
  requestId: string;
  key: WorldKey;
  readUsage: Pick<UsageReport, "ofRequest">;
  nowMs: number;
}

/**
 * `GET /v1/usage/{id}`: what one request of this key used and cost (S45). It is there a moment after its answer has ended.
 * @throws GatewayError `not_found`.
 */
export async function describeRequestUsage({ requestId, key, readUsage, nowMs }: RequestUsageInput): Promise<object> {
  const id = requestId.toLowerCase();
  const attempts = isRequestId(id, nowMs) ? await readUsage.ofRequest({ accountId: key.accountId, requestId: id }) : [];
  const own = attempts.filter(({ keyId }) => keyId === key.publicId);
  // A request of a batch may have failed free of charge before it was answered.
  const request = own.find(({ chargeNanoUsd }) => chargeNanoUsd > 0n) ?? own.at(-1);
  if (request === undefined)
    throw new GatewayError(
      "not_found",
      "This key has no such request, or it is not settled yet. Send the `x-request-id` of an answer, a second after it has ended.",
      { headers: { "retry-after": "1" } },
    );
  return {
    object: "usage.request",
    currency: "USD",
    id: request.requestId,
    model: request.model,
    interface: request.interface,
    started_at: request.startedAt.toISOString(),
    duration_ms: request.durationMs,
    first_token_ms: request.firstTokenMs,
    is_stream: request.isStream,
    http_status: request.httpStatus,
    outcome: request.outcome,
    is_estimated: request.isEstimated,
    is_batch: request.isBatch,
    own_key_provider: request.providerKey,
    ...describeCharge({ ...request, ...unitsByKind(request) }),
    ...describeLabels(request.labels),
  };
}
