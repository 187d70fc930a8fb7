import { GatewayError } from "../../contract/errors.ts";

export const BROKEN_OFF_MESSAGE = "The model server stopped in the middle of its answer.";

/** The answer ended without its ending. */
export function brokenOff(): GatewayError {
  return new GatewayError("upstream_error", BROKEN_OFF_MESSAGE);
}

/** The answer has its ending, which reports a failure. */
export function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The model server stopped before its answer was complete. Try again.");
}
