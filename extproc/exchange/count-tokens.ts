import type { Backend } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { Caller } from "../auth/authenticate.ts";
import { requestChanges } from "../headers.ts";
import type { LimitedRequest } from "../limits/limits.ts";
import { decodeIfPossible } from "../protocol/content-coding.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { createResponsesCount } from "../translate/count-tokens/responses-count.ts";
import { createTokenCount } from "../translate/count-tokens/token-count.ts";
import { BROKEN_OFF } from "./answer-stream.ts";
import { charged } from "./charged.ts";
import { redactorOf, type ExchangeContext } from "./context.ts";
import { answered, type Counting, type Step } from "./phase.ts";
import { forPage } from "./refusal.ts";
import { refuse } from "./refuse.ts";

export interface CountRequest {
  body: RequestBody;
  headers: ReadonlyMap<string, string>;
  caller: Caller;
  backend: Backend;
  client: Interface;
}

const NOTHING_USED = { tokens: 0, nanoUsd: 0n };

/** A request to count tokens: free, and counted by the model server if it can (S16). */
export function countTokens(context: ExchangeContext, request: CountRequest): Step | Promise<Step> {
  const counting = context.deps.limits.begin(request.caller, context.protocol, NOTHING_USED);
  return counting instanceof Promise
    ? counting.then((begun) => charged(context, () => startCount(context, request, begun)))
    : startCount(context, request, counting);
}

function startCount(context: ExchangeContext, request: CountRequest, counting: LimitedRequest): Step {
  const { deps, requestId } = context;
  // The client left while the request waited for a turn of its limits.
  if (context.client.aborted) {
    counting.cancel();
    return answered(reply.passBody());
  }
  context.closers.push(() => counting.end(NOTHING_USED));
  const count = request.client === "responses" ? createResponsesCount(request) : createTokenCount(request);
  const { upstream } = count;
  if (upstream === null) return answered(reply.answerNow(deps.answers.json(requestId, count.estimate())));
  deps.brokenAnswers.watch(requestId, () => context.push(refuse(context, BROKEN_OFF)));
  const { headers, backend } = request;
  return {
    reply: reply.forwardRequest(upstream.body, requestChanges({ headers, backend, upstream, requestId })),
    next: { kind: "counting", count, status: 0, coding: null },
  };
}

/** @throws GatewayError as the server refuses it. */
export function answerCount(context: ExchangeContext, counting: Counting, received: Buffer): Reply {
  const { count, status, coding } = counting;
  const { deps, requestId } = context;
  // A count that cannot be decoded is estimated.
  const body = decodeIfPossible(received, coding);
  try {
    return reply.answerNow(forPage(context, deps.answers.json(requestId, count.answer(status, body))));
  } catch (error) {
    // The server may have repeated the credential.
    throw error instanceof GatewayError ? redactorOf(context).error(error) : error;
  }
}
