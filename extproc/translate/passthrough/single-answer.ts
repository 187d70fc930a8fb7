import { GatewayError } from "../../../contract/errors.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";

/**
 * For interfaces that have no such field. @throws GatewayError `invalid_request` for a request for several answers: they would be
 * produced and charged.
 */
export function refuseSeveralAnswers({ outline }: RequestBody): void {
  if ((outline["n"] ?? outline["best_of"] ?? 1) === 1) return;
  throw new GatewayError("invalid_request", "`n` must be 1: this interface gives one answer per request.", { field: "n" });
}
