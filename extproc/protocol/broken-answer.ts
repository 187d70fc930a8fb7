import { GatewayError } from "../../contract/errors.ts";

export const BROKEN_OFF_MESSAGE = "The model server stopped in the middle of its answer. Try again.";

/** The answer ended without its ending. */
export function brokenOff(): GatewayError {
  return new GatewayError("upstream_error", BROKEN_OFF_MESSAGE);
}

/** A chat completion without a choice: SDKs read the first one. */
export function withoutChoice(): GatewayError {
  return new GatewayError("upstream_error", "The model server sent an answer without content. Try again.");
}

/** The answer has its ending, which reports a failure. */
export function incomplete(): GatewayError {
  return new GatewayError("upstream_error", "The model server stopped before its answer was complete. Try again.");
}

/** Clients know which of their functions to run by its name alone. */
export function callWithoutName(): GatewayError {
  return new GatewayError("upstream_error", "The model server sent a tool call without a name. Try again.");
}
