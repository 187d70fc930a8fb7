/**
 * Header names that the planes agree on. Envoy strips every client-sent `x-gateway-*` header before
 * anything reads it, so a client cannot choose a backend.
 */
export const HEADERS = {
  /** Request, extproc → Envoy's route: the cluster that answers. Without it the route answers 503. */
  backend: "x-gateway-backend",
  /** Request, extproc → Envoy's route: extproc enforces this request's timeouts itself, because its Model sets them. */
  timed: "x-gateway-timed",
  /** Request, extproc → Envoy's route: the answer will be a stream (docs/decisions/0034). */
  streamed: "x-gateway-streamed",
  /**
   * Request, extproc → Envoy's route: extproc relays this request and may answer before the model server does
   * (docs/decisions/0048). Response, relay → exchange: this is that early answer.
   */
  earlyAnswer: "x-gateway-early-answer",
  /** Request or gRPC metadata, → the extproc cluster: the address of the request's worker. */
  worker: "x-gateway-worker",
  /** Response, relay → extproc: Envoy made this reply itself. The value is Envoy's reason. */
  localReply: "x-gateway-local-reply",
  /** Request of an attempt, extproc → a later filter: the new body's `content-length`, which Envoy removes. */
  bodyLength: "x-gateway-content-length",
  /** Response of an attempt, extproc → Envoy's retry policy: discard this, another backend will be tried. */
  tryNext: "x-gateway-try-next",
  /** Response: request fields that the translation dropped because they cannot change the answer. */
  dropped: "x-gateway-dropped",
  /** Response, of an answer in one piece: what it costs, in USD. */
  cost: "x-gateway-cost",
  /** Both names carry the one id of a request (S17); it is also in the usage log. */
  requestId: "x-request-id",
  requestIdMessages: "request-id",
  /** The Messages interface's version header in its two spellings (S4). */
  versionNeutral: "msgapi-version",
  version: "anthropic-version",
} as const;

/** Value of `x-gateway-backend` for a Model with several backends: the listener where each attempt names its backend. */
export const ATTEMPTS_CLUSTER = "attempts";

/** The cluster of the listener through which streams pass on their way to the only backend of their Model. */
export const RELAY_CLUSTER = "relay";

/** The path that routes an attempt to the extproc process that has its request, by the process's number from 0. */
export function attemptPath(worker: number): string {
  return `/${worker}`;
}

/** gRPC metadata by which extproc distinguishes an attempt's stream from a client's. */
export const STAGE = { header: "x-gateway-stage", attempt: "attempt" } as const;

/** Rate-limit headers of each dialect (S23). */
export const RATE_LIMIT_HEADERS = {
  chat: {
    requests: {
      limit: "x-ratelimit-limit-requests",
      remaining: "x-ratelimit-remaining-requests",
      reset: "x-ratelimit-reset-requests",
    },
    tokens: {
      limit: "x-ratelimit-limit-tokens",
      remaining: "x-ratelimit-remaining-tokens",
      reset: "x-ratelimit-reset-tokens",
    },
  },
  messages: {
    requests: {
      limit: "anthropic-ratelimit-requests-limit",
      remaining: "anthropic-ratelimit-requests-remaining",
      reset: "anthropic-ratelimit-requests-reset",
    },
    tokens: {
      limit: "anthropic-ratelimit-tokens-limit",
      remaining: "anthropic-ratelimit-tokens-remaining",
      reset: "anthropic-ratelimit-tokens-reset",
    },
  },
} as const;

/**
 * Versions of the Messages interface that clients may send (S4, docs/decisions/0005): the first is the service's own and the
 * default; the official SDKs send the second since October 2026.
 */
export const MESSAGES_VERSION = "2023-06-01";
export const MESSAGES_VERSIONS: readonly string[] = [MESSAGES_VERSION, "2026-10-21"];

/** Largest request body, in bytes; more is a 413 in the caller's format (S21). */
export const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
