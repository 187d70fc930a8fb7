import { dialectOf, type Interface } from "./protocol.ts";

/**
 * Every refusal and failure that a caller can see: HTTP status and the type in each dialect (S17–S23). Anything else is a bug and
 * answers `internal_error`.
 */
export const ERRORS = {
  invalid_request: row(400, "invalid_request_error", null, "invalid_request_error"),
  context_too_long: row(400, "invalid_request_error", "context_length_exceeded", "invalid_request_error"),
  content_refused: row(400, "invalid_request_error", "content_policy_violation", "invalid_request_error"),
  unsupported_version: row(400, "invalid_request_error", "unsupported_version", "invalid_request_error"),
  invalid_api_key: row(401, "invalid_request_error", "invalid_api_key", "authentication_error"),
  insufficient_balance: row(402, "insufficient_quota", "insufficient_balance", "billing_error"),
  permission_denied: row(403, "permission_error", "insufficient_permissions", "permission_error"),
  provider_key_refused: row(403, "permission_error", "provider_key_refused", "permission_error"),
  model_not_found: row(404, "invalid_request_error", "model_not_found", "not_found_error"),
  previous_response_not_found: row(404, "invalid_request_error", "previous_response_not_found", "not_found_error"),
  not_found: row(404, "invalid_request_error", "not_found", "not_found_error"),
  method_not_allowed: row(405, "invalid_request_error", "method_not_allowed", "invalid_request_error"),
  request_too_large: row(413, "invalid_request_error", "request_too_large", "request_too_large"),
  rate_limited: row(429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"),
  internal_error: row(500, "server_error", "internal_error", "api_error"),
  upstream_error: row(502, "server_error", "upstream_error", "api_error"),
  upstream_unavailable: row(503, "server_error", "upstream_unavailable", "overloaded_error"),
  provider_key_unavailable: row(503, "server_error", "provider_key_unavailable", "api_error"),
  overloaded: row(503, "server_error", "overloaded", "overloaded_error"),
  billing_unavailable: row(503, "server_error", "billing_unavailable", "api_error"),
  guardrail_unavailable: row(503, "server_error", "guardrail_unavailable", "api_error"),
  upstream_timeout: row(504, "server_error", "upstream_timeout", "timeout_error"),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

interface ErrorRow {
  status: number;
  chat: { type: string; code: string | null };
  messages: { type: string };
}

export interface GatewayErrorOptions {
  /** The request field at fault, as a path: `messages[2].content`. */
  field?: string;
  /** Overrides the table's status, for an upstream's own 4xx (S22). */
  status?: number;
  /** Additional response headers: `retry-after`, `allow`, `x-should-retry`. */
  headers?: Readonly<Record<string, string>>;
  /** The model server's own error type and code, if the caller uses its protocol. */
  kind?: ErrorKind | null;
  /** `error.details` of the messages protocol, from which SDKs recover. */
  details?: Readonly<Record<string, unknown>> | null;
  /** The real cause; logged, never sent. */
  cause?: unknown;
}

/** Null members are taken from `ERRORS`. */
export interface ErrorKind {
  readonly type: string | null;
  readonly code: string | null;
}

/** A failure that the caller can act on. The message is sent to the caller, so it must contain nothing internal. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly field: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly kind: ErrorKind | null;
  readonly details: Readonly<Record<string, unknown>> | null;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "GatewayError";
    this.code = code;
    this.status = options.status ?? ERRORS[code].status;
    this.field = options.field ?? null;
    this.kind = options.kind ?? null;
    this.details = options.details ?? null;
    this.headers = { ...retryAdvice(this.status, options.headers), ...options.headers };
  }
}

/** 4xx that may succeed later: SDKs retry these automatically. */
const MENDED_BY_TIME: ReadonlySet<number> = new Set([408, 409, 425, 429]);

/** Official SDKs respect this header. Some coding tools otherwise retry a deleted key for minutes (S42). */
function retryAdvice(status: number, headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const isFinal = status >= 400 && status < 500 && !MENDED_BY_TIME.has(status) && headers["retry-after"] === undefined;
  return isFinal ? { "x-should-retry": "false" } : {};
}

/** Any thrown value as an error for a caller: anything but a GatewayError becomes `internal_error`. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError(
    "internal_error",
    "The gateway failed to process this request. Contact support with the request id of this response.",
    { cause: thrown },
  );
}

/** The error object of the caller's protocol (S17). In a stream it is the payload of the error event. */
export function encodeError(protocol: Interface, error: GatewayError, requestId: string): object {
  const row = ERRORS[error.code];
  switch (dialectOf(protocol)) {
    case "chat":
      return {
        error: {
          message: error.message,
          type: error.kind?.type ?? row.chat.type,
          param: error.field,
          code: error.kind?.code ?? row.chat.code,
        },
      };
    case "messages":
      return {
        type: "error",
        error: {
          type: error.kind?.type ?? row.messages.type,
          message: error.message,
          ...(error.details === null ? {} : { details: error.details }),
        },
        request_id: requestId,
      };
  }
}

function row(status: number, chatType: string, chatCode: string | null, messagesType: string): ErrorRow {
  return { status, chat: { type: chatType, code: chatCode }, messages: { type: messagesType } };
}
