/**
 * Header names that the planes agree on. Envoy strips every client-sent `x-gateway-*` header before
 * anything reads it, so a client cannot choose a backend.
 */
export const HEADERS = {
  /** Request, extproc → Envoy's route: the cluster that answers. Without it the route answers 503. */
  backend: "x-gateway-backend",
  /** Response: request fields that the translation left out because they cannot change the answer. */
  dropped: "x-gateway-dropped",
  /** Both names carry the one id of a request (S17); it is also in the usage log. */
  requestId: "x-request-id",
  requestIdMessages: "request-id",
  /** The message interface's version header in its two spellings (S4). */
  versionNeutral: "msgapi-version",
  version: "anthropic-version",
} as const;

/**
 * Versions of the message interface that clients may name (S4, docs/decisions/0005): the first is the service's own and
 * stands for a missing header; the official SDKs send the second since October 2026.
 */
export const MESSAGES_VERSION = "2023-06-01";
export const MESSAGES_VERSIONS: readonly string[] = [MESSAGES_VERSION, "2026-10-21"];

/** Largest request body, in bytes; more is a 413 in the caller's shape (S21). */
export const MAX_REQUEST_BYTES = 32 * 1024 * 1024;
