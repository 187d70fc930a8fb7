import { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import { responseChanges } from "../headers.ts";
import { contentCoding, decodeContent } from "../protocol/content-coding.ts";
import { encodeErrorEvent } from "../protocol/error-event.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { withCost } from "./answer-cost.ts";
import { emptyAnswer, judgeAnswer } from "./answer-kind.ts";
import { createAnswerStream, keepAliveBytes, type AnswerStream } from "./answer-stream.ts";
import { redactorOf, type ExchangeContext, type Forwarded } from "./context.ts";
import { holdAnswer } from "./held-answer.ts";
import { answerIsBroken, isReportedBroken, serverBroke, upstreamError } from "./interrupt.ts";
import { withFinalResponse } from "./final-response.ts";
import { encodeRefusal } from "./refusal.ts";
import { noteFailure, refuse } from "./refuse.ts";
import { createSoundStream } from "./sound-stream.ts";
import { streamCheck } from "./checked-stream.ts";
import { passChecked } from "./check-answer.ts";
import { costHeader, readWhole } from "./whole-answer.ts";

const NOTHING = Buffer.alloc(0);

/**
 * Phase 3: determines whether the answer is complete or streamed. @throws GatewayError for an answer that cannot be passed on.
 */
export function respond(
  context: ExchangeContext,
  forwarded: Forwarded,
  { headers, isEnd }: { headers: ReadonlyMap<string, string>; isEnd: boolean },
): Reply {
  const { run, dispatch, relayed } = forwarded;
  const status = Number(headers.get(":status"));
  // The model server may answer later (relayed-answer.ts).
  const isEarly = relayed !== null && headers.has(HEADERS.earlyAnswer);
  if (isEarly) context.deps.events.answeredEarly(run.model.name);
  const kind = isEarly ? "stream" : judgeAnswer(forwarded, headers);
  const isStream = kind === "stream" || kind === "sound";
  const { wantsStream, dropped, answerType } = dispatch.translation();
  // A server that cannot stream a transcription answers as if it had not been asked to.
  const asStream = wantsStream && answerType === undefined;
  const changes = responseChanges({
    headers,
    isStream,
    isEvents: kind === "stream",
    // Translation changes a stream's length, even of one that is made from a document.
    contentType: kind === "upstream_error" ? undefined : answerType?.(headers.get("content-type") ?? ""),
    hasLength: !(isStream || asStream),
    requestId: context.requestId,
    dropped,
    limits: run.limitHeaders,
    notice: run.model.notice,
  });
  if (kind === "upstream_error") forwarded.answer = { kind, status, headers };
  else if (kind === "sound") forwarded.answer = { kind: "stream", stream: startSound(context, forwarded) };
  else if (kind === "stream") forwarded.answer = { kind, stream: startStream(context, forwarded, isEarly) };
  else forwarded.answer = { kind, asStream, coding: contentCoding(headers) };
  if (!isStream) relayed?.ready();
  if (!isEarly) forwarded.deadlines.began(isStream);
  if (isEnd)
    throw kind === "upstream_error" ? upstreamError(context, forwarded, { status, headers, body: NOTHING }) : emptyAnswer();
  if (!isEarly && isReportedBroken(forwarded, status)) {
    if (!isStream) throw answerIsBroken(context, forwarded);
    serverBroke(context, forwarded);
  }
  // What speech costs follows from its request.
  if (kind === "sound") return reply.streamResponseBody({ ...changes, set: { ...changes.set, ...costHeader(run) } });
  if (isStream) return reply.streamResponseBody(changes);
  return holdAnswer(context, headers, wantsStream ? reply.awaitShortResponseBody(changes) : reply.awaitResponseBody(changes));
}

function startStream(context: ExchangeContext, forwarded: Forwarded, isEarly: boolean): AnswerStream {
  const { protocol, push } = context;
  const { run, dispatch, relayed } = forwarded;
  const check = streamCheck(context, forwarded);
  const { keep } = check ?? forwarded;
  const stream = createAnswerStream({
    createMachine() {
      const redacted = redactorOf(context).stream(dispatch.translation().stream(run.meter), errorEventOf(context));
      const machine = keep === null ? redacted : withFinalResponse(redacted, keep);
      return context.wantsCost ? withCost(machine, protocol, run.costNanoUsd) : machine;
    },
    isEarly,
    onBegun: () => relayed?.ready(),
    run,
    keepAlive: keepAliveBytes(protocol),
    noteFailure: (thrown) => noteFailure(context, thrown),
    push,
    hold: (bytes) => holdPart(context, bytes),
    openCheck: check?.open ?? null,
    recording: context.recording,
  });
  context.closers.push(stream.close);
  return stream;
}

function startSound(context: ExchangeContext, { run, dispatch }: Forwarded): AnswerStream {
  const { speech } = dispatch.translation();
  context.recording?.played(0);
  const stream = createSoundStream({
    run,
    maxBytes: speech?.kind === "sound" ? speech.maxBytes : 0,
    refuse: (thrown) => refuse(context, thrown),
    cutOff: (error) => reply.answerNow(encodeRefusal(context.protocol, error, context.requestId)),
    push: context.push,
  });
  context.closers.push(stream.close);
  return stream;
}

/** @throws GatewayError `upstream_error` if there is no room: servers send events of a few hundred bytes. */
function holdPart({ heldBytes, requestBytes }: ExchangeContext, bytes: number): void {
  try {
    heldBytes?.reserve(requestBytes + bytes);
  } catch (cause) {
    const message = "The model server sent one event that is larger than the gateway can hold at the moment.";
    throw new GatewayError("upstream_error", message, { cause });
  }
  heldBytes?.resize(requestBytes + bytes);
}

/**
 * Phase 4, for a complete answer.
 * @returns undefined if it is checked first.
 * @throws GatewayError for an answer that cannot be passed on.
 */
export function respondWhole(
  context: ExchangeContext,
  forwarded: Forwarded,
  { received, isEnd }: { received: Buffer; isEnd: boolean },
): Reply | undefined {
  const { run, dispatch, answer, keep } = forwarded;
  if (answer === null) throw new Error("a response body came before its headers");
  if (answer.kind === "upstream_error") throw upstreamError(context, forwarded, { ...answer, body: received });
  const asStream = answer.kind === "stream" || answer.asStream;
  // Over HTTP/2 trailers may follow a complete answer; those of a stream arrive over HTTP/1.1.
  if (dispatch.translation().wantsStream && !isEnd) throw tooLargeAsStream();
  const coding = answer.kind === "whole" ? answer.coding : null;
  const body = coding === null ? received : decodeContent(received, coding);
  if (coding !== null) context.heldBytes?.resize(context.requestBytes + body.length);
  const { protocol: client, wantsCost, recording } = context;
  const redactor = redactorOf(context);
  const errorEvent = errorEventOf(context);
  const translation = dispatch.translation();
  const whole = readWhole({
    received,
    body,
    asStream,
    client,
    wantsCost,
    translation,
    run,
    redactor,
    errorEvent,
    keep,
    recording,
  });
  context.answerBytes = received.length;
  return passChecked(context, forwarded, whole);
}

function tooLargeAsStream(): GatewayError {
  const message = "The model server answered a request for a stream with one document that is larger than the gateway supports.";
  return new GatewayError("upstream_error", message);
}

function errorEventOf({ protocol, requestId }: ExchangeContext) {
  return (error: GatewayError) => encodeErrorEvent(protocol, error, requestId);
}
