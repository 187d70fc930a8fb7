import { encodeError, type GatewayError } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";
import { requestIdHeaders } from "../headers.ts";
import * as reply from "../reply.ts";
import type { ImmediateAnswer, Reply } from "../reply.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";

/** In the middle of an answer, Envoy adds no headers for pages to the one that replaces it. */
export function forPage({ crossOrigin }: Pick<ExchangeContext, "crossOrigin">, answer: ImmediateAnswer): ImmediateAnswer {
  return crossOrigin === undefined ? answer : { ...answer, headers: { ...answer.headers, ...crossOrigin } };
}

/** The client gets it instead of an answer. */
export function answerRefusal(context: Pick<ExchangeContext, "crossOrigin" | "recording">, refusal: ImmediateAnswer): Reply {
  context.recording?.answered(refusal.status, refusal.body);
  return reply.answerNow(forPage(context, refusal));
}

/**
 * An error as the complete answer, in the caller's protocol (S17).
 * @param reason more than the error's code says, for Envoy's access log.
 */
export function encodeRefusal(
  protocol: Interface,
  error: GatewayError,
  requestId: string,
  reason: string | null = null,
): ImmediateAnswer {
  return {
    status: error.status,
    headers: { "content-type": "application/json", ...requestIdHeaders(requestId), ...error.headers },
    body: Buffer.from(JSON.stringify(encodeError(protocol, error, requestId))),
    details: reason === null ? `gateway_${error.code}` : `gateway_${error.code}:${reason}`,
  };
}

/** Null if no answer is the reason, neither the model server's nor Envoy's in its place. */
export function reasonOf(forwarded: Pick<Forwarded, "upstreamStatus" | "localReply"> | undefined): string | null {
  if (forwarded === undefined) return null;
  const { upstreamStatus, localReply } = forwarded;
  return upstreamStatus === null ? localReply : `upstream_status_${upstreamStatus}`;
}
