import { GatewayError } from "../../../contract/errors.ts";

/** @param what is wrong with the form, as the rest of a sentence that never quotes it. */
export function malformed(what: string): GatewayError {
  return new GatewayError("invalid_request", `The form ${what}. Send it as \`curl -F\` and the official SDKs do.`);
}
