import { GatewayError } from "../../../contract/errors.ts";

const FIELD = "thread";

/**
 * With `thread`, the messages service keeps the conversation and clients send only the last turn (docs/decisions/0055). SDKs
 * recognise these details and send the whole conversation instead.
 */
export function threadUnsupported(): GatewayError {
  const message = "`thread` is not supported: the gateway keeps no conversations. Leave it out, and send all of `messages`.";
  const details = { error_code: "thread_unsupported_request", unsupported: [FIELD] };
  return new GatewayError("invalid_request", message, { field: FIELD, details });
}
