import { OTHER } from "../../ledger/postgres/known-or-other.ts";
import type { Batch } from "../../ledger/batches/batches.ts";
import { resultFileId, type BatchFile } from "../../ledger/batches/files.ts";
import { CLIENT_PATHS } from "../../contract/protocol.ts";

/** A file, as OpenAI's clients read it. */
export function describeFile({ id, name, bytes, purpose, createdAt, expiresAt }: BatchFile) {
  return {
    id,
    object: "file",
    bytes,
    created_at: seconds(createdAt),
    expires_at: seconds(expiresAt),
    filename: name,
    purpose,
    status: "processed",
    status_details: null,
  };
}

/** A batch, as OpenAI's clients read it. */
export function describeBatch(batch: Batch) {
  const { id, errors, inputFileId, state, stoppedBy, metadata } = batch;
  const { createdAt, startedAt, endingAt, endedAt, dueAt } = batch;
  const status = statusOf(batch);
  const at = (wanted: string, time: Date | null) => (status === wanted && time !== null ? seconds(time) : null);
  const isCanceled = stoppedBy === "canceled";
  return {
    id,
    object: "batch",
    endpoint: endpointOf(batch),
    errors: errors.length === 0 ? null : { object: "list", data: errors.map((error) => ({ ...error, param: null })) },
    input_file_id: inputFileId,
    completion_window: "24h",
    status,
    output_file_id: hasFile(batch, "output") ? resultFileId(id, "output") : null,
    error_file_id: hasFile(batch, "error") ? resultFileId(id, "error") : null,
    created_at: seconds(createdAt),
    in_progress_at: startedAt === null ? null : seconds(startedAt),
    expires_at: seconds(dueAt),
    finalizing_at: endingAt === null || stoppedBy !== null ? null : seconds(endingAt),
    completed_at: at("completed", endedAt),
    failed_at: at("failed", endedAt),
    expired_at: at("expired", endedAt),
    cancelling_at: isCanceled && endingAt !== null ? seconds(endingAt) : null,
    cancelled_at: at("cancelled", endedAt),
    request_counts: {
      total: batch.requests,
      completed: batch.succeeded,
      failed: state === "ended" ? batch.errored + batch.canceled + batch.expired : batch.errored,
    },
    metadata,
  };
}

/** Where its requests would be sent one by one. */
export function endpointOf({ interface: client }: Pick<Batch, "interface">): string {
  return client === OTHER ? OTHER : CLIENT_PATHS[client];
}

export type BatchStatus =
  | "validating"
  | "in_progress"
  | "finalizing"
  | "cancelling"
  | "completed"
  | "failed"
  | "expired"
  | "cancelled";

/** In OpenAI's words. */
export function statusOf({ state, stoppedBy }: Pick<Batch, "state" | "stoppedBy">): BatchStatus {
  switch (state) {
    // Clients know no further status: they keep asking for a batch that has not ended.
    case OTHER:
    case "arriving":
    case "preparing":
      return "validating";
    case "running":
      return "in_progress";
    case "ending":
      return stoppedBy === "canceled" ? "cancelling" : "finalizing";
    case "ended":
      if (stoppedBy === null) return "completed";
      if (stoppedBy === "canceled") return "cancelled";
      return stoppedBy === "expired" ? "expired" : "failed";
  }
}

function hasFile(batch: Batch, part: "output" | "error"): boolean {
  if (batch.state !== "ended") return false;
  return part === "output" ? batch.outputBytes > 0 && !batch.isOutputDeleted : batch.errorBytes > 0 && !batch.isErrorDeleted;
}

/** A batch, as Anthropic's clients read it. */
export function describeMessageBatch(batch: Batch, publicBaseUrl: string) {
  const { id, state, stoppedBy, createdAt, endingAt, endedAt, dueAt, succeeded, errored, canceled, expired } = batch;
  const isEnded = state === "ended";
  return {
    id,
    type: "message_batch",
    processing_status: isEnded ? "ended" : state === "ending" && stoppedBy === "canceled" ? "canceling" : "in_progress",
    request_counts: isEnded
      ? { processing: 0, succeeded, errored, canceled, expired }
      : { processing: batch.requests, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    ended_at: time(endedAt),
    created_at: createdAt.toISOString(),
    expires_at: dueAt.toISOString(),
    archived_at: null,
    cancel_initiated_at: stoppedBy === "canceled" ? time(endingAt) : null,
    results_url: isEnded ? `${publicBaseUrl}/v1/messages/batches/${id}/results` : null,
  };
}

function time(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
