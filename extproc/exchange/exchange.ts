import { GatewayError, type ErrorCode } from "../../contract/errors.ts";
import type { Backend } from "../../contract/catalogue.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { BROKEN_OFF, createAnswerStream, keepAliveBytes, type AnswerStream } from "./answer-stream.ts";
import { answerRoute } from "../answers/answer.ts";
import { authenticate, type Caller } from "../auth/authenticate.ts";
import { checkVersion, hasVersion } from "../auth/version.ts";
import type { BrokenAnswer } from "../broken-answers.ts";
import { startDeadlines, type Deadlines } from "./deadlines.ts";
import type { ExchangeDeps } from "./deps.ts";
import type { Admitted, Response } from "./state.ts";
import { createExchangeFailures } from "./failures.ts";
import { localReplyError, tooLate } from "../fallback/attempts.ts";
import { planWay, type Way } from "../fallback/way.ts";
import { ATTEMPTS_CLUSTER, HEADERS, RELAY_CLUSTER } from "../../contract/headers.ts";
import { isCompressed, isEventStream, readLength, requestChanges, responseChanges } from "../headers.ts";
import type { HeldBytes } from "../load/byte-admission.ts";
import type { LimitedRequest } from "../limits/limits.ts";
import type { AccountLoad } from "../load/account-load.ts";
import type { Place } from "../load/place.ts";
import { sizeRequest } from "../meter/request-size.ts";
import { orRelease, release, reserve, type Reservation } from "../credit/reservation.ts";
import { startRun, type Run } from "../meter/run.ts";
import { encodeErrorEvent } from "../protocol/error-event.ts";
import { checkBodyComes, parseBody } from "../protocol/json/parse-body.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { readUpstreamError } from "../protocol/upstream-error.ts";
import { encodeRefusal } from "./refusal.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { chooseBackend } from "../route/choose-backend.ts";
import { chooseModel } from "../route/choose-model.ts";
import { findEndpoint, protocolOf } from "../route/endpoint.ts";
import { createTokenCount } from "../translate/count-tokens/token-count.ts";
import type { StreamTranslation } from "../translate/translation.ts";
import { finishWhole } from "./whole-answer.ts";
import { pricedAt } from "../world/world.ts";

/**
 * One request's life, in the order in which it happens. Envoy sends one message a step and waits for its
 * answer; `closed` comes last, whatever happened. Read it top-down.
 */
export interface Exchange {
  requestHeaders(headers: ReadonlyMap<string, string>, isEnd: boolean): Reply | Promise<Reply>;
  requestBody(body: Buffer): Reply | Promise<Reply>;
  responseHeaders(headers: ReadonlyMap<string, string>, facts: { isLocalReply: boolean; isEnd: boolean }): Reply;
  /** @returns undefined if Envoy waits for nothing: a streamed answer goes on by `push`. */
  responseBody(body: Buffer, isEnd: boolean): Reply | undefined;
  /** @param names of the trailers, none of which the client gets. */
  responseTrailers(names: readonly string[]): Reply | undefined;
  /** What is known of it by now. */
  facts(): ExchangeFacts;
  /** Of the account that pays; null until its key is known. */
  load(): AccountLoad | null;
  /**
   * Envoy's stream is over: normally, because the client left, or because the upstream broke off.
   * @param isEnded Envoy has ended it; false if the connection to Envoy broke.
   */
  closed(isEnded: boolean): void;
}

export interface ExchangeFacts {
  requestId: string;
  protocol: Interface;
  /** Null where nothing was sent upstream. */
  model: string | null;
  backend: string | null;
  /** Null where nothing went wrong. */
  errorCode: ErrorCode | null;
  settlement: Settlement | null;
}

const NOTHING = Buffer.alloc(0);

/** @param push sends Envoy a message that it has not asked for. */
export function createExchange(deps: ExchangeDeps, push: (reply: Reply) => void): Exchange {
  const startedMs = deps.clock.nowMs();
  const requestId = deps.newRequestId(startedMs);
  let protocol: Interface = "chat";
  let authenticated: Caller | undefined;
  let load: AccountLoad | null = null;
  let admitted: Admitted | undefined;
  let way: Way | undefined;
  let run: Run | undefined;
  let deadlines: Deadlines | undefined;
  let place: Place | undefined;
  let heldBytes: HeldBytes | undefined;
  let requestBytes = 0;
  let response: Response | undefined;
  /** Of a request that only counts tokens. */
  let counting: LimitedRequest | undefined;
  let hasHeaders = false;
  let hasBody = false;
  /** Of an answer that comes whole. */
  let hasAnswerBody = false;
  let upstreamStatus: number | null = null;
  /** Envoy's report of an attempt that broke off: it may overtake the answer's headers. */
  let early: BrokenAnswer | undefined;
  let isBroken = false;
  /** Read by what waits for credit. */
  const client = { aborted: false };
  const failures = createExchangeFailures(deps, {
    requestId,
    startedMs,
    protocol: () => protocol,
    caller: () => authenticated,
    run: () => run,
    upstreamStatus: () => upstreamStatus,
  });

  // 1. Who asks, for what, and may they? Decided before the body is read.
  function requestHeaders(headers: ReadonlyMap<string, string>, isEnd: boolean) {
    return refusingSlowly(() => {
      // A second run would leave the first one's place to nobody.
      if (hasHeaders) throw new Error("a request has its headers once");
      hasHeaders = true;
      const line = { method: headers.get(":method") ?? "", path: headers.get(":path") ?? "", hasVersion: hasVersion(headers) };
      protocol = protocolOf(line);
      const endpoint = findEndpoint(line);
      if (endpoint.kind === "generate") protocol = endpoint.protocol;
      if (protocol === "messages") checkVersion(headers);
      if (endpoint.kind === "root") return reply.answerNow(deps.answers.root(requestId));

      const { world, catchUp, pepper, keysUrl } = deps;
      const admit = (caller: Caller) => admitCaller({ caller, endpoint, headers }, isEnd);
      const caller = authenticate({ headers, world, catchUp, pepper, nowMs: startedMs, keysUrl });
      return caller instanceof Promise ? caller.then(admit).catch(refuseSlowly) : admit(caller);
    });
  }

  function admitCaller(request: Admitted, isEnd: boolean): Reply | Promise<Reply> {
    const { caller, endpoint, headers } = request;
    // The client left while its key was looked for: what it would take up, nobody would give back.
    if (client.aborted) return reply.continueToBody();
    authenticated = caller;
    load = deps.loads.of(caller.account.accountId);
    if (endpoint.kind === "usage") place = deps.freeRequests.report(load);
    else if (endpoint.kind !== "generate") deps.freeRequests.lookUp(load);
    if (endpoint.kind !== "generate" && endpoint.kind !== "count_tokens")
      return answerRoute({ endpoint, caller, requestId, deps }).catch(refuseSlowly);
    // Counting tokens is free, but it is work: who may not generate may not count either.
    deps.limits.check(caller, protocol);
    deps.credit.check(caller.account);
    checkBodyComes({ headers, interface: protocol }, isEnd);
    place = deps.admission.enter(load);
    heldBytes = deps.byteAdmission.enter(caller.account.accountId, readLength(headers));
    admitted = request;
    return reply.continueToBody();
  }

  // 2. Which model, which backend, and in which words? The body goes on, translated.
  function requestBody(body: Buffer) {
    return refusingSlowly(() => {
      if (admitted === undefined) throw new Error("a request body came before its headers were accepted");
      // A second run would leave the first one's hold to nobody.
      if (hasBody) throw new Error("a request has one body");
      hasBody = true;
      requestBytes = body.length;
      heldBytes?.resize(requestBytes);
      const { caller, headers } = admitted;
      const request = parseBody(body, { headers, interface: protocol });
      const { world, modelsUrl } = deps;
      const chosenModel = chooseModel({ world, key: caller.key, protocol, modelsUrl, name: request.member("model") });
      const model = pricedAt(chosenModel, startedMs);
      if (admitted.endpoint.kind === "count_tokens")
        return countTokens({ body: request, headers, caller, backend: chooseBackend(model.backends, deps.random()) });

      const size = sizeRequest(request, { protocol, model });
      const { wantsStream } = size;
      const reserved = reserve(deps, { caller, protocol, size: size.hold, signal: client });
      const forward = (reservation: Reservation) => {
        // The client left while its credit was waited for: nothing runs, and nobody reads this answer.
        if (client.aborted) {
          release(reservation);
          return reply.passBody();
        }
        const { outputTokens } = reservation;
        const keyId = caller.key.publicId;
        const nowSeconds = Math.floor(startedMs / 1000);
        const planned = orRelease(reservation, () =>
          planWay(
            { body: request, headers, model, outputTokens, requestId, nowSeconds, client: protocol, wantsStream, keyId },
            deps,
          ),
        );
        way = planned;
        const meter = size.meter(outputTokens);
        const { isByAttempt } = planned;
        const backend = planned.backend();
        run = startRun(
          { requestId, caller, model, backend, protocol, isStream: wantsStream, startedMs, meter, reservation },
          deps,
        );
        deadlines = startDeadlines({ timeouts: model.timeouts, isByAttempt, onPassed: late });
        deps.brokenAnswers.watch(requestId, brokenOff);
        return planned.forward();
      };
      return reserved instanceof Promise ? reserved.then(forward).catch(refuseSlowly) : forward(reserved);
    });
  }

  // 2b. Tokens are only to be counted: asked upstream where it can count, and free (S16).
  function countTokens(input: { body: RequestBody; headers: ReadonlyMap<string, string>; caller: Caller; backend: Backend }) {
    counting = deps.limits.begin(input.caller, protocol, NOTHING_USED);
    const count = createTokenCount(input);
    if (count.upstream === null) return reply.answerNow(deps.answers.json(requestId, count.estimate()));
    response = { kind: "token_count", count, status: 0 };
    deps.brokenAnswers.watch(requestId, brokenOff);
    return reply.forwardRequest(count.upstream.body, requestChanges({ ...input, upstream: count.upstream, requestId }));
  }

  // 3. How does the answer come: whole or streamed, from the upstream or from Envoy itself?
  function responseHeaders(
    headers: ReadonlyMap<string, string>,
    { isLocalReply, isEnd }: { isLocalReply: boolean; isEnd: boolean },
  ) {
    return refusing(() => {
      const status = Number(headers.get(":status"));
      if (response?.kind === "token_count") {
        response.status = status;
        return isEnd ? wholeBody(NOTHING, response, run) : reply.awaitResponseBody({});
      }
      if (isLocalReply || run === undefined || way === undefined) {
        response = { kind: "local_reply" };
        if (run !== undefined) failures.noteUpstream(run, status, "upstream_unavailable");
        return reply.awaitResponseBody({});
      }
      run.moveTo(way.backend());
      const madeByRelay = headers.get(HEADERS.localReply);
      const failure = madeByRelay === undefined ? way.failure() : localReplyError(status, madeByRelay);
      if (failure !== null) throw way.described(failure);
      // Envoy passes it on over HTTP/1.1, whose answers below 200 have no body: the end of this one would never come.
      if (!(status >= 200)) throw new GatewayError("upstream_error", "The model server's answer has no valid status code.");
      upstreamStatus = status;

      const translation = way.translation();
      const isGood = status >= 200 && status < 300;
      if (status === 206) throw new GatewayError("upstream_error", "The model server gave a part of an answer.");
      // Clients read no body behind it.
      if (status === 205) throw emptyAnswer();
      if (isGood && isCompressed(headers))
        throw new GatewayError("upstream_error", "The model server's answer is compressed, although it was asked not to be.");
      const isStream = isGood && translation.wantsStream && isEventStream(headers);
      const changes = responseChanges({
        headers,
        isStream,
        requestId,
        dropped: translation.dropped,
        limits: run.limitHeaders,
        notice: run.model.notice,
      });
      if (!isGood) response = { kind: "upstream_error", status, headers };
      else if (isStream)
        response = { kind: "stream", stream: answerStream(deps.redactor.stream(translation.stream(run.meter), errorEvent), run) };
      else response = { kind: "whole", asStream: translation.wantsStream };
      deadlines?.began(isStream);
      if (isEnd) throw isGood ? emptyAnswer() : upstreamError(status, headers, NOTHING);
      // An earlier attempt's report says another server, or another status.
      if (early?.cluster === run.backend().cluster && early.status === status) {
        if (!isStream) throw brokenError();
        breakOff();
      }
      return isStream ? reply.streamResponseBody(changes) : reply.awaitResponseBody(changes);
    });
  }

  const errorEvent = (error: GatewayError) => encodeErrorEvent(protocol, error, requestId);
  const answerStream = (machine: StreamTranslation, run: Run): AnswerStream =>
    createAnswerStream({ machine, run, keepAlive: keepAliveBytes(protocol), noteFailure: failures.note, push });

  // 4. The answer itself, metered on its way to the client.
  function responseBody(body: Buffer, isEnd: boolean) {
    if (isEnd) deadlines?.over();
    else deadlines?.heard();
    if (response?.kind === "stream") return response.stream.pass(body, isEnd);
    return refusing(() => {
      if (response === undefined) throw new Error("a response body came before its headers");
      hasAnswerBody = true;
      // Envoy holds it whole until the client has taken it.
      heldBytes?.resize(requestBytes + body.length);
      return wholeBody(body, response, run);
    });
  }

  function responseTrailers(names: readonly string[]) {
    deadlines?.over();
    if (response?.kind === "stream") response.stream.endWithTrailers();
    else if (response !== undefined && !hasAnswerBody) return withoutBody(response);
    return reply.dropTrailers(names);
  }

  /** Envoy sends no body at all for an answer that is nothing but headers and trailers. */
  function withoutBody(response: Response) {
    return refusing(() => {
      if (response.kind === "whole") throw emptyAnswer();
      return wholeBody(NOTHING, response, run);
    });
  }

  function wholeBody(body: Buffer, response: Response, run: Run | undefined) {
    switch (response.kind) {
      case "local_reply":
        return reply.passBody();
      case "token_count":
        return reply.answerNow(deps.answers.json(requestId, response.count.answer(response.status, body)));
      case "upstream_error":
        throw upstreamError(response.status, response.headers, body);
      case "stream":
      case "whole": {
        if (run === undefined || way === undefined) throw new Error("a response came for a request that was not forwarded");
        const asStream = response.kind === "stream" || response.asStream;
        return finishWhole({ body, asStream, translation: way.translation(), run, redactor: deps.redactor, errorEvent });
      }
    }
  }

  // 5. Over. What was produced before the client left, or the upstream broke off, is charged (S28).
  function closed(isEnded: boolean) {
    client.aborted = true;
    place?.leave();
    heldBytes?.leave();
    counting?.end(NOTHING_USED);
    deadlines?.over();
    way?.close();
    if (response?.kind === "stream") response.stream.close();
    // A client may hang up on the last event, before the upstream closes: that is no abort.
    const outcome = response?.kind === "stream" ? response.stream.outcome() : "open";
    if (run === undefined || run.settlement() !== null || outcome !== "open" || !isEnded) {
      deps.brokenAnswers.forget(requestId);
      run?.settle(outcome === "open" ? "aborted" : outcome, outcome === "open" ? 499 : 200);
      return;
    }
    if (response !== undefined && !isBroken) return deps.brokenAnswers.judge(requestId, run.leave);
    deps.brokenAnswers.forget(requestId);
    if (isBroken) lost();
    // An upstream that fails before its headers have come is told of by a reply of Envoy's own. So this was the client.
    else run.leave();
  }

  /** Envoy reports that a model server has not finished its answer. The client may be there still. */
  function brokenOff(report: BrokenAnswer): void {
    const isOpen = run?.settlement() === null || response?.kind === "token_count";
    if (response === undefined) early = report;
    else if (isOpen && (run === undefined || [run.backend().cluster, ...HOPS].includes(report.cluster))) breakOff();
  }

  function breakOff(): void {
    isBroken = true;
    deadlines?.over();
    if (response?.kind === "stream" && !client.aborted) response.stream.breakOff(lost);
    else lost();
  }

  /** The client can be told no more than that its answer failed, if it is still there. */
  function lost(): void {
    if (response?.kind === "stream") run?.settle("truncated", 200);
    push(refuse(brokenError()));
  }

  const brokenError = (): GatewayError =>
    response?.kind === "upstream_error" ? upstreamError(response.status, response.headers, NOTHING) : BROKEN_OFF;

  /** A time that the Model names has passed. What was produced is charged (S28). */
  function late(): void {
    const error = way?.described(tooLate()) ?? tooLate();
    if (response?.kind === "stream" && response.stream.fail(error) === "told") return;
    push(refuse(error));
  }

  function upstreamError(status: number, headers: ReadonlyMap<string, string>, body: Buffer): GatewayError {
    if (run === undefined || way === undefined) throw new Error("an upstream's error came for a request that was not forwarded");
    const { model } = run;
    const backend = run.backend();
    const names = { upstream: backend.upstreamModel, client: model.name };
    return way.described(
      readUpstreamError({ status, headers, body, upstream: backend.protocol, client: protocol, model: names }),
    );
  }

  /** Runs one step; what it throws is answered in the caller's protocol (S17). */
  function refusing<Answer extends Reply | Promise<Reply>>(step: () => Answer): Answer | Reply {
    try {
      return step();
    } catch (thrown) {
      return refuse(thrown);
    }
  }

  function refuse(thrown: unknown): Reply {
    deadlines?.over();
    const error = failures.note(thrown);
    run?.settle("failed", error.status);
    return reply.answerNow(encodeRefusal(protocol, error, requestId, upstreamStatus));
  }

  /** As `refusing`, for a request that nothing was sent upstream for: floods of those wait for their refusals. */
  function refusingSlowly(step: () => Reply | Promise<Reply>): Reply | Promise<Reply> {
    try {
      return step();
    } catch (thrown) {
      return refuseSlowly(thrown);
    }
  }

  function refuseSlowly(thrown: unknown): Reply | Promise<Reply> {
    const refusal = refuse(thrown);
    place?.leave();
    return deps.refusals.hold(load)?.then(() => refusal) ?? refusal;
  }

  function facts(): ExchangeFacts {
    const model = run?.model.name ?? null;
    const backend = run?.backend().name ?? null;
    return { requestId, protocol, model, backend, errorCode: failures.code, settlement: run?.settlement() ?? null };
  }

  return {
    requestHeaders,
    requestBody,
    responseHeaders,
    responseBody,
    responseTrailers,
    facts,
    load: () => load,
    closed,
  };
}

/** Envoy's own, which serve an answer that is passed on. */
const HOPS: readonly string[] = [ATTEMPTS_CLUSTER, RELAY_CLUSTER];
const NOTHING_USED = { tokens: 0, nanoUsd: 0n };
const emptyAnswer = (): GatewayError => new GatewayError("upstream_error", "The model server's answer is empty.");
