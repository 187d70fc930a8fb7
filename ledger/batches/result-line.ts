import type { BatchInterface } from "../../contract/batches.ts";
import { encodeError, type ErrorCode, GatewayError } from "../../contract/errors.ts";

/** A request of a batch, as its result names it. */
export interface NamedRequest {
  batchId: string;
  number: number;
  customId: string;
  interface: BatchInterface;
}

/** The answer to a request of a batch: JSON, as any client would have got it. */
export interface BatchAnswer {
  status: number;
  requestId: string;
  /** Valid JSON. */
  body: string;
}

/** The line of a request that was answered, in the format of its interface. */
export function answerLine(request: NamedRequest, { status, requestId, body }: BatchAnswer): string {
  // A line break can only be white space: in a JSON string it is escaped.
  const line = body.trim().replaceAll(/[\r\n]+/g, " ");
  const customId = JSON.stringify(request.customId);
  if (request.interface === "messages") {
    const result = status < 300 ? `{"type":"succeeded","message":${line}}` : `{"type":"errored","error":${line}}`;
    return `{"custom_id":${customId},"result":${result}}\n`;
  }
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${line}}`;
  return `{"id":${JSON.stringify(resultId(request))},"custom_id":${customId},"response":${response},"error":null}\n`;
}

/** The line of a request that has no answer. */
export function failureLine(request: NamedRequest, failure: "canceled" | "expired" | GatewayError): string {
  const { customId } = request;
  if (request.interface === "messages") {
    const result =
      typeof failure === "string"
        ? { type: failure }
        : { type: "errored", error: encodeError("messages", failure, request.batchId) };
    return `${JSON.stringify({ custom_id: customId, result })}\n`;
  }
  const error =
    typeof failure === "string"
      ? { code: `batch_${failure === "canceled" ? "cancelled" : "expired"}`, message: UNSENT[failure] }
      : { code: failure.code, message: failure.message };
  return `${JSON.stringify({ id: resultId(request), custom_id: customId, response: null, error })}\n`;
}

const UNSENT = {
  canceled: "The batch was canceled before this request was sent.",
  expired: "The batch expired before this request was sent.",
} as const;

function resultId({ batchId, number }: NamedRequest): string {
  return `batch_req_${batchId.slice(batchId.indexOf("_") + 1)}_${number}`;
}

const REASONS: Partial<Record<ErrorCode, string>> = {
  insufficient_balance:
    "The account ran out of credit before all requests of the batch were sent. Add credit, then create a new batch with the unanswered requests.",
  invalid_api_key:
    "The API key that created the batch was disabled or deleted, or has expired. Use another key to create a new batch with the unanswered requests.",
  permission_denied: "The account was suspended or closed.",
};

/** Why a batch was ended early. @param stoppedBy as stored; a newer version may have other reasons. */
export function stopReason(stoppedBy: string): "canceled" | "expired" | GatewayError {
  if (stoppedBy === "canceled" || stoppedBy === "expired") return stoppedBy;
  if (stoppedBy === "insufficient_balance" || stoppedBy === "invalid_api_key" || stoppedBy === "permission_denied")
    return new GatewayError(stoppedBy, REASONS[stoppedBy] ?? "");
  return new GatewayError("internal_error", "The batch ended early.");
}
