import { AuthorizationResponseError, ClientError, ResponseBodyError } from "openid-client";
import { GatewayError } from "../../contract/errors.ts";

const AGAIN = "Go to the sign-in page and start again.";

/** A token for another sign-in: its nonce or its audience is wrong. */
const OTHER_CLAIMS = "OAUTH_JWT_CLAIM_COMPARISON_FAILED";

/**
 * A provider's failure, as a message for the person who signs in.
 * @param name display name of the provider.
 */
export function oidcFailure(error: unknown, name: string): GatewayError {
  if (error instanceof GatewayError) return error;
  const cause = withoutTokens(error);
  if (error instanceof AuthorizationResponseError) {
    if (error.error === "access_denied")
      return new GatewayError("permission_denied", `${name} did not sign you in, or you canceled. ${AGAIN}`, { cause });
    if (error.error === "server_error" || error.error === "temporarily_unavailable") return away(name, cause);
    return new GatewayError("invalid_request", `Sign-in with ${name} failed. ${AGAIN}`, { cause });
  }
  if (error instanceof ResponseBodyError && error.error === "invalid_grant")
    return new GatewayError("invalid_request", `This sign-in with ${name} was already used, or took too long. ${AGAIN}`, {
      cause,
    });
  if (error instanceof ClientError && error.code === OTHER_CLAIMS) return notBegunHere(cause);
  return away(name, cause);
}

/** Somebody returns with another sign-in's data. */
export function notBegunHere(cause?: Error): GatewayError {
  return new GatewayError("invalid_request", `This response does not match the sign-in that this browser started. ${AGAIN}`, {
    cause,
  });
}

function away(name: string, cause: Error): GatewayError {
  return new GatewayError(
    "upstream_unavailable",
    `Sign-in with ${name} is unavailable right now: its server cannot be reached, or rejects this service. Try again in a minute, or contact the operator of this service.`,
    { cause },
  );
}

/** The library's errors contain the provider's answer, including tokens: only the message is logged. */
function withoutTokens(error: unknown): Error {
  if (!(error instanceof Error)) return new Error("the provider failed");
  const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : "";
  const reason = "error" in error && typeof error.error === "string" ? `: ${error.error}` : "";
  return new Error(`sign-in provider: ${error.message}${code}${reason}`);
}
