import type { GatewayError } from "../../contract/errors.ts";
import { ATTEMPTS_CLUSTER, RELAY_CLUSTER } from "../../contract/headers.ts";
import type { BrokenAnswer } from "../broken-answers.ts";
import { tooLate } from "../fallback/attempts.ts";
import { contentCoding, decodeIfPossible } from "../protocol/content-coding.ts";
import { retryHeaders } from "../protocol/retry-after.ts";
import { isMissingEndpoint, missingEndpoint, readUpstreamError } from "../protocol/upstream-error.ts";
import { providerOf } from "../route/provider-key.ts";
import { BROKEN_OFF } from "./answer-stream.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import * as reply from "../reply.ts";
import { encodeRefusal } from "./refusal.ts";
import { noteFailure, refuse } from "./refuse.ts";

/** Envoy's own flags for an answer that is passed on. */
const HOPS: readonly string[] = [ATTEMPTS_CLUSTER, RELAY_CLUSTER];
const NOTHING = Buffer.alloc(0);

/** Envoy reports that a model server has not finished its answer. The client may still be there. */
export function brokenOff(context: ExchangeContext, report: BrokenAnswer): void {
  const { forwarded } = context;
  if (forwarded === undefined) return;
  const { answer } = forwarded;
  if (report.leftAfterBytes !== null) return noteLeft(context, forwarded, report.leftAfterBytes);
  if (answer === null || (answer.kind === "stream" && answer.stream.isWaiting())) forwarded.earlyReport = report;
  else if (forwarded.run.settlement() === null && [forwarded.run.backend().cluster, ...HOPS].includes(report.cluster)) {
    if (isUnread(forwarded, report)) forwarded.run.leave();
    else serverBroke(context, forwarded);
  }
}

/**
 * No data moved for as long as Envoy waits. If the server was silent, everything that it sent has arrived here; missing data is
 * blocked by bytes that the client does not read.
 */
function isUnread({ answer }: Forwarded, { silentAfterBytes }: BrokenAnswer): boolean {
  return answer?.kind === "stream" && silentAfterBytes !== null && silentAfterBytes > answer.stream.receivedBytes();
}

/** The gateway has ended the answer because of silence: the same comparison. */
function noteLeft({ deps, requestId }: ExchangeContext, { answer, blameServer, run }: Forwarded, bytes: number): void {
  if (blameServer === null || answer?.kind !== "stream") return;
  deps.brokenAnswers.forget(requestId);
  if (bytes > answer.stream.receivedBytes()) run.leave();
  else blameServer();
}

/** Whether the answer that begins now was reported before. An earlier attempt's report has another server, or another status. */
export function isReportedBroken({ run, earlyReport }: Forwarded, status: number): boolean {
  return earlyReport?.cluster === run.backend().cluster && earlyReport.status === status;
}

/** The relay, if there is one, ensures that the client can be notified. */
export function serverBroke(context: ExchangeContext, forwarded: Forwarded): void {
  if (forwarded.relayed === null) breakOff(context, forwarded);
  else forwarded.relayed.serverBroke();
}

export function breakOff(context: ExchangeContext, forwarded: Forwarded): void {
  forwarded.isBroken = true;
  forwarded.deadlines.over();
  const { answer } = forwarded;
  if (answer?.kind === "stream" && !context.client.aborted) answer.stream.breakOff(() => fail(context, forwarded));
  else fail(context, forwarded);
}

/** The client, if it is still there, learns only that its answer failed. */
export function fail(context: ExchangeContext, forwarded: Forwarded): void {
  if (forwarded.answer?.kind === "stream") forwarded.run.settle("truncated", 200);
  context.push(refuse(context, answerIsBroken(context, forwarded)));
}

/** One of the Model's timeouts has passed. Produced tokens are charged (S28). */
export function late(context: ExchangeContext, time: "silence" | "whole"): void {
  const { forwarded } = context;
  const error = forwarded?.dispatch.described(tooLate()) ?? tooLate();
  const answer = forwarded?.answer;
  if (forwarded !== undefined && answer?.kind === "stream") {
    const result = time === "silence" ? answer.stream.timeOut(error) : answer.stream.fail(error);
    if (result === "undecided") judgeSilence(context, forwarded, error);
    if (result !== "too_early") return;
  }
  context.push(refuse(context, error));
}

/**
 * Envoy has the answer's end. If the client accepts it, Envoy closes its internal connection and reports how much it had received
 * from the server by then. If not, the client is not reading, and is cut off.
 */
function judgeSilence(context: ExchangeContext, forwarded: Forwarded, error: GatewayError): void {
  forwarded.blameServer = () => void noteFailure(context, error);
  const clientLeft = () => {
    forwarded.run.leave();
    context.push(reply.answerNow(encodeRefusal(context.protocol, error, context.requestId)));
  };
  context.deps.brokenAnswers.judge(context.requestId, clientLeft, CLIENT_TAKES_END_WITHIN_MS);
}

const CLIENT_TAKES_END_WITHIN_MS = 2_000;

export function answerIsBroken(context: ExchangeContext, forwarded: Forwarded): GatewayError {
  const { answer } = forwarded;
  return answer?.kind === "upstream_error" ? upstreamError(context, forwarded, { ...answer, body: NOTHING }) : BROKEN_OFF;
}

export interface UpstreamErrorAnswer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: Buffer;
}

export function upstreamError(
  { protocol: client, deps }: ExchangeContext,
  { run, dispatch }: Forwarded,
  { status, headers, body: received }: UpstreamErrorAnswer,
): GatewayError {
  const { optional } = dispatch.translation();
  if (optional !== undefined && isMissingEndpoint(status)) return dispatch.described(missingEndpoint(status, optional));
  // An error whose body cannot be decoded keeps its status.
  const body = decodeIfPossible(received, contentCoding(headers));
  const backend = run.backend();
  const { upstreamModel, protocol: upstream } = backend;
  const model = { upstream: upstreamModel, client: run.model.name };
  const provider = providerOf(backend);
  const retry = retryHeaders(headers, deps.clock.nowMs());
  return dispatch.described(readUpstreamError({ status, headers, body, retry, upstream, client, model, provider }));
}
