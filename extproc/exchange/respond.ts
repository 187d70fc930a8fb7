import { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import { localReplyError } from "../fallback/attempts.ts";
import { isCompressed, isEventStream, responseChanges } from "../headers.ts";
import { encodeErrorEvent } from "../protocol/error-event.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { createAnswerStream, keepAliveBytes, type AnswerStream } from "./answer-stream.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import { answerIsBroken, breakOff, upstreamError } from "./interrupt.ts";
import { noteFailure } from "./refuse.ts";
import { finishWhole } from "./whole-answer.ts";

const NOTHING = Buffer.alloc(0);

/** Phase 3: how does the answer come, whole or streamed? @throws GatewayError for an answer that cannot be passed on. */
export function respond(
  context: ExchangeContext,
  forwarded: Forwarded,
  { headers, isEnd }: { headers: ReadonlyMap<string, string>; isEnd: boolean },
): Reply {
  const { run, dispatch } = forwarded;
  const status = Number(headers.get(":status"));
  run.moveTo(dispatch.backend());
  const madeByRelay = headers.get(HEADERS.localReply);
  const failure = madeByRelay === undefined ? dispatch.failure() : localReplyError(status, madeByRelay);
  if (failure !== null) throw dispatch.described(failure);
  // Envoy passes it on over HTTP/1.1, where answers below 200 have no body: the end of this one would never come.
  if (!(status >= 200)) throw new GatewayError("upstream_error", "The model server's answer has no valid status code.");
  forwarded.upstreamStatus = status;

  const translation = dispatch.translation();
  const isGood = status < 300;
  if (status === 206) throw new GatewayError("upstream_error", "The model server gave a part of an answer.");
  // Clients read no body after it.
  if (status === 205) throw emptyAnswer();
  if (isGood && isCompressed(headers))
    throw new GatewayError("upstream_error", "The model server's answer is compressed, although it was asked not to be.");
  const isStream = isGood && translation.wantsStream && isEventStream(headers);
  const changes = responseChanges({
    headers,
    isStream,
    requestId: context.requestId,
    dropped: translation.dropped,
    limits: run.limitHeaders,
    notice: run.model.notice,
  });
  if (!isGood) forwarded.answer = { kind: "upstream_error", status, headers };
  else if (isStream) forwarded.answer = { kind: "stream", stream: startStream(context, forwarded) };
  else forwarded.answer = { kind: "whole", asStream: translation.wantsStream };
  forwarded.deadlines.began(isStream);
  if (isEnd) throw isGood ? emptyAnswer() : upstreamError(context, forwarded, { status, headers, body: NOTHING });
  // An earlier attempt's report says another server, or another status.
  const { earlyReport } = forwarded;
  if (earlyReport?.cluster === run.backend().cluster && earlyReport.status === status) {
    if (!isStream) throw answerIsBroken(context, forwarded);
    breakOff(context, forwarded);
  }
  return isStream ? reply.streamResponseBody(changes) : reply.awaitResponseBody(changes);
}

function startStream(context: ExchangeContext, { run, dispatch }: Forwarded): AnswerStream {
  const { deps, protocol, push } = context;
  const stream = createAnswerStream({
    machine: deps.redactor.stream(dispatch.translation().stream(run.meter), errorEventOf(context)),
    run,
    keepAlive: keepAliveBytes(protocol),
    noteFailure: (thrown) => noteFailure(context, thrown),
    push,
  });
  context.closers.push(stream.close);
  return stream;
}

/** Phase 4, for an answer that came in one piece. @throws GatewayError for an answer that cannot be passed on. */
export function respondWhole(context: ExchangeContext, forwarded: Forwarded, body: Buffer): Reply {
  const { run, dispatch, answer } = forwarded;
  if (answer === null) throw new Error("a response body came before its headers");
  if (answer.kind === "upstream_error") throw upstreamError(context, forwarded, { ...answer, body });
  const asStream = answer.kind === "stream" || answer.asStream;
  const { redactor } = context.deps;
  return finishWhole({ body, asStream, translation: dispatch.translation(), run, redactor, errorEvent: errorEventOf(context) });
}

function errorEventOf({ protocol, requestId }: ExchangeContext) {
  return (error: GatewayError) => encodeErrorEvent(protocol, error, requestId);
}

export function emptyAnswer(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is empty.");
}
