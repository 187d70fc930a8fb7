import { GatewayError } from "../contract/errors.ts";
import { MAX_REQUEST_BYTES } from "../contract/headers.ts";

/** What Envoy's own reply to a request means to the caller (S17, S22): it passes the response path like any other. */
export function localReplyError(status: number): GatewayError {
  switch (status) {
    case 413:
      return new GatewayError(
        "request_too_large",
        `The request body is larger than the ${MAX_REQUEST_BYTES / 1024 / 1024} MiB that this service takes. Send less.`,
      );
    case 408:
      return new GatewayError("invalid_request", "The request did not arrive in time. Send it again.", { status: 408 });
    case 504:
      return new GatewayError("upstream_timeout", "The model server did not answer in time. Try again.");
    case 503:
      return new GatewayError("upstream_unavailable", "The model server cannot be reached right now. Try again shortly.", {
        headers: { "retry-after": "5" },
      });
    case 502:
    case 500:
      return new GatewayError("upstream_error", "The model server's answer could not be read.");
    default:
      return new GatewayError("invalid_request", "The request could not be processed as it was sent.", { status });
  }
}
