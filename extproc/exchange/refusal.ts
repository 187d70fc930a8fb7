import { encodeError, type GatewayError } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";
import { requestIdHeaders } from "../headers.ts";
import type { ImmediateAnswer } from "../reply.ts";
import type { ExchangeContext } from "./context.ts";

/** In the middle of an answer, Envoy adds no headers for pages to the one that replaces it. */
export function forPage({ crossOrigin }: Pick<ExchangeContext, "crossOrigin">, answer: ImmediateAnswer): ImmediateAnswer {
  return crossOrigin === undefined ? answer : { ...answer, headers: { ...answer.headers, ...crossOrigin } };
}

/**
 * An error as the complete answer, in the caller's protocol (S17).
 * @param upstreamStatus of the model server, if its answer is the reason: for Envoy's access log.
 */
export function encodeRefusal(
  protocol: Interface,
  error: GatewayError,
  requestId: string,
  upstreamStatus: number | null = null,
): ImmediateAnswer {
  return {
    status: error.status,
    headers: { "content-type": "application/json", ...requestIdHeaders(requestId), ...error.headers },
    body: Buffer.from(JSON.stringify(encodeError(protocol, error, requestId))),
    details: upstreamStatus === null ? `gateway_${error.code}` : `gateway_${error.code}:upstream_status_${upstreamStatus}`,
  };
}
